//! `loading_associations_sequentially` of diesel's benchmark: nine users, ten posts of each, ten
//! comments on each post; all are loaded, in their order.

use std::path::Path;

use ::diesel::Connection as _;
use ::diesel::connection::SimpleConnection;
use ::diesel::prelude::*;
use permazen::kv::lmdb::LmdbStore;
use permazen::{Permazen, PermazenObject, Ref};
use rusqlite::Connection;

use super::line;
use crate::measure::timed;
use crate::peers::Table;
use crate::settings::Settings;
use crate::sides::{Flush, sqlite_settings};

const USERS: usize = 9;
const EACH: usize = 10;
/// Loaded objects: users, posts and comments.
const ALL: usize = USERS + USERS * EACH + USERS * EACH * EACH;

mod ours {
    use super::{PermazenObject, Ref};

    #[derive(PermazenObject, Debug)]
    pub(super) struct User {
        pub(super) name: String,
        pub(super) hair_color: Option<String>,
    }

    #[derive(PermazenObject, Debug)]
    pub(super) struct Post {
        pub(super) user: Ref<User>,
        pub(super) title: String,
        pub(super) body: Option<String>,
    }

    #[derive(PermazenObject, Debug)]
    pub(super) struct Comment {
        pub(super) post: Ref<Post>,
        pub(super) text: String,
    }
}

type Tree<U, P, C> = Vec<(U, Vec<(P, Vec<C>)>)>;

fn check<U, P, C>(tree: &Tree<U, P, C>) {
    let posts = |posts: &[(P, Vec<C>)]| -> usize { posts.iter().map(|(_, c)| 1 + c.len()).sum() };
    let all: usize = tree.iter().map(|(_, found)| 1 + posts(found)).sum();
    assert_eq!(all, ALL);
}

fn fill_ours(dir: &Path) -> Permazen {
    let store = LmdbStore::open_or_create(dir).unwrap();
    let models = Permazen::builder(store).model::<ours::User>().model::<ours::Post>();
    let db = models.model::<ours::Comment>().build().unwrap();
    let fill = db.write(|tx| {
        for user in 0..USERS {
            let name = format!("User {user}");
            let user = tx.create(ours::User { name, hair_color: None })?.to_ref();
            for post in 0..EACH {
                let title = format!("Post {post}");
                let post = tx.create(ours::Post { user, title, body: None })?.to_ref();
                for comment in 0..EACH {
                    tx.create(ours::Comment { post, text: format!("Comment {comment}") })?;
                }
            }
        }
        Ok(())
    });
    fill.unwrap();
    db
}

fn load_ours(db: &Permazen) -> Tree<ours::User, ours::Post, ours::Comment> {
    let read = db.read(|tx| {
        let mut users = Vec::new();
        for user in &tx.all::<ours::User>()? {
            let user = user?;
            let mut posts = Vec::new();
            for post in &user.referrers(ours::Post::USER)? {
                let post = post?;
                let comments = post.referrers(ours::Comment::POST)?;
                let comments = comments.iter().map(|comment| comment?.load());
                posts.push((post.load()?, comments.collect::<permazen::Result<Vec<_>>>()?));
            }
            users.push((user.load()?, posts));
        }
        Ok(users)
    });
    read.unwrap()
}

const TABLES: &str = "
    CREATE TABLE users (id INTEGER PRIMARY KEY, name TEXT NOT NULL, hair_color TEXT);
    CREATE TABLE posts (
        id INTEGER PRIMARY KEY, user_id INTEGER NOT NULL REFERENCES users (id), title TEXT NOT NULL, body TEXT
    );
    CREATE TABLE comments (
        id INTEGER PRIMARY KEY, post_id INTEGER NOT NULL REFERENCES posts (id), text TEXT NOT NULL
    );
    CREATE INDEX post_user ON posts (user_id);
    CREATE INDEX comment_post ON comments (post_id);
    WITH RECURSIVE n(n) AS (VALUES (0) UNION ALL SELECT n + 1 FROM n WHERE n < 8)
        INSERT INTO users (name) SELECT 'User ' || n FROM n;
    WITH RECURSIVE n(n) AS (VALUES (0) UNION ALL SELECT n + 1 FROM n WHERE n < 9)
        INSERT INTO posts (user_id, title) SELECT users.id, 'Post ' || n FROM users, n;
    WITH RECURSIVE n(n) AS (VALUES (0) UNION ALL SELECT n + 1 FROM n WHERE n < 9)
        INSERT INTO comments (post_id, text) SELECT posts.id, 'Comment ' || n FROM posts, n;
";

struct User {
    _name: String,
    _hair_color: Option<String>,
}

struct Post {
    _title: String,
    _body: Option<String>,
}

/// Three statements, as diesel's benchmark has them for rusqlite, and the rows divided by their
/// parents. Rows come ordered by parent, so no map is needed.
fn load_rusqlite(connection: &Connection) -> rusqlite::Result<Tree<User, Post, String>> {
    let mut users =
        connection.prepare_cached("SELECT id, name, hair_color FROM users ORDER BY id")?;
    let users = users.query_map([], |row| {
        let user = User { _name: row.get(1)?, _hair_color: row.get(2)? };
        Ok((row.get::<_, i64>(0)?, user))
    })?;
    let mut posts = connection
        .prepare_cached("SELECT user_id, id, title, body FROM posts ORDER BY user_id, id")?;
    let posts = posts.query_map([], |row| {
        let post = Post { _title: row.get(2)?, _body: row.get(3)? };
        Ok((row.get::<_, i64>(0)?, row.get::<_, i64>(1)?, post))
    })?;
    let mut comments =
        connection.prepare_cached("SELECT post_id, text FROM comments ORDER BY post_id, id")?;
    let comments = comments.query_map([], |row| Ok((row.get::<_, i64>(0)?, row.get(1)?)))?;
    let (mut ids, mut tree) = (Vec::new(), Tree::new());
    for user in users {
        let (id, user) = user?;
        ids.push(id);
        tree.push((user, Vec::new()));
    }
    let mut places = Vec::new();
    let mut at = 0;
    for post in posts {
        let (user, id, post) = post?;
        while ids[at] != user {
            at += 1;
        }
        let posts = &mut tree[at].1;
        places.push((id, at, posts.len()));
        posts.push((post, Vec::new()));
    }
    places.sort_unstable();
    let mut at = 0;
    for comment in comments {
        let (post, text): (i64, String) = comment?;
        while places[at].0 != post {
            at += 1;
        }
        let (_, user, place) = places[at];
        tree[user].1[place].1.push(text);
    }
    Ok(tree)
}

mod with_diesel {
    use ::diesel::prelude::*;

    ::diesel::table! {
        users (id) { id -> BigInt, name -> Text, hair_color -> Nullable<Text>, }
    }
    ::diesel::table! {
        posts (id) { id -> BigInt, user_id -> BigInt, title -> Text, body -> Nullable<Text>, }
    }
    ::diesel::table! {
        comments (id) { id -> BigInt, post_id -> BigInt, text -> Text, }
    }

    #[derive(Queryable, Identifiable)]
    #[diesel(table_name = users)]
    #[allow(dead_code, reason = "values are only made")]
    pub(super) struct User {
        id: i64,
        name: String,
        hair_color: Option<String>,
    }

    #[derive(Queryable, Identifiable, Associations)]
    #[diesel(table_name = posts, belongs_to(User))]
    #[allow(dead_code, reason = "values are only made")]
    pub(super) struct Post {
        id: i64,
        user_id: i64,
        title: String,
        body: Option<String>,
    }

    #[derive(Queryable, Identifiable, Associations)]
    #[diesel(table_name = comments, belongs_to(Post))]
    #[allow(dead_code, reason = "values are only made")]
    pub(super) struct Comment {
        id: i64,
        post_id: i64,
        text: String,
    }
}

fn load_diesel(
    connection: &mut SqliteConnection,
) -> QueryResult<Tree<with_diesel::User, with_diesel::Post, with_diesel::Comment>> {
    use with_diesel::{Comment, Post, User, users};
    let all = users::table.load::<User>(connection)?;
    let posts = Post::belonging_to(&all).load::<Post>(connection)?;
    let comments = Comment::belonging_to(&posts).load::<Comment>(connection)?;
    let comments = comments.grouped_by(&posts);
    let posts = posts.into_iter().zip(comments).grouped_by(&all);
    Ok(all.into_iter().zip(posts).collect())
}

pub fn table(dir: &Path, settings: &Settings) -> Table {
    std::fs::create_dir_all(dir).unwrap();
    let db = fill_ours(&dir.join("permazen"));
    let path = dir.join("db.sqlite");
    let connection = Connection::open(&path).unwrap();
    connection.execute_batch(&sqlite_settings(Flush::Never)).unwrap();
    connection.execute_batch(TABLES).unwrap();
    let mut diesel = SqliteConnection::establish(path.to_str().unwrap()).unwrap();
    diesel.batch_execute(&sqlite_settings(Flush::Never)).unwrap();
    let runs = if settings.quick { 1 } else { 20 };
    let loads = line(
        "nine users with their posts and comments",
        settings.rounds,
        vec![
            Box::new(|_| timed(runs, || (0..runs).for_each(|_| check(&load_ours(&db))))),
            Box::new(|_| {
                timed(runs, || (0..runs).for_each(|_| check(&load_rusqlite(&connection).unwrap())))
            }),
            Box::new(|_| {
                timed(runs, || (0..runs).for_each(|_| check(&load_diesel(&mut diesel).unwrap())))
            }),
        ],
    );
    let sides = vec!["permazen", "SQLite (rusqlite)", "SQLite (diesel)"];
    Table { sides, lines: vec![loads] }
}
