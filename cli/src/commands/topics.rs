//! Help for the statements of the language, with examples.

/// Help for a statement, or for what statements consist of.
pub(super) struct Topic {
    pub(super) word: &'static str,
    pub(super) summary: &'static str,
    text: &'static str,
    examples: &'static [&'static str],
}

/// The examples are for the database of persons and pets that the guide uses; a test runs them.
pub(super) const TOPICS: &[Topic] = &[
    Topic {
        word: "find",
        summary: "list objects",
        text: "find OBJECTS [where CONDITION] [order by PATH [desc], …] [limit N] [columns PATH, …] [using INDEX|none]",
        examples: &[
            "find Person",
            "find Person where age >= 30 order by name desc limit 20 columns id, name, boss.name",
            "find Person where name in \"A\"..\"C\" or \"x\" in tags",
            "find @1000000000000001->friends",
            "find Person <- Person.boss",
        ],
    },
    Topic {
        word: "show",
        summary: "show objects with all their fields",
        text: "show OBJECTS [where CONDITION] [order by PATH, …] [limit N]",
        examples: &["show @1000000000000001", "show Pet where name starts \"R\""],
    },
    Topic {
        word: "count",
        summary: "count objects",
        text: "count OBJECTS [where CONDITION]",
        examples: &["count Person", "count Person where boss is null"],
    },
    Topic {
        word: "index",
        summary: "list the entries of an index",
        text: "index INDEX [(VALUE|RANGE, …)] [reverse] [limit N]",
        examples: &["index Person.name", "index Person.nameAge (\"Ann\", 30..) reverse limit 5"],
    },
    Topic {
        word: "create",
        summary: "create an object",
        text: "create TYPE [FIELD = VALUE, …]",
        examples: &[
            "create Person name = \"Eve\", tags = {\"x\"}, friends = [@1000000000000002], scores = {\"a\": 1}",
        ],
    },
    Topic {
        word: "set",
        summary: "change fields of objects",
        text: "set [all] OBJECTS [where CONDITION] to CHANGE, …\n\
               A CHANGE is FIELD = VALUE, FIELD += VALUE, FIELD add VALUE, FIELD remove VALUE, FIELD insert VALUE at N,\n\
               FIELD put KEY: VALUE. The whole of a type needs the word all.",
        examples: &[
            "set Person where age < 0 to age = 0",
            "set @1000000000000001 to visits += 1, tags add \"z\"",
            "set all Pet to born = null",
        ],
    },
    Topic {
        word: "delete",
        summary: "delete objects",
        text: "delete [all] OBJECTS [where CONDITION]\n\
               What refers to them is nullified or deleted, or forbids it, as the schema says; `explain delete …` lists \
               that.",
        examples: &["delete Pet where name starts \"R\"", "explain delete @1000000000000002"],
    },
    Topic {
        word: "migrate",
        summary: "move objects to another schema",
        text: "migrate OBJECTS [where CONDITION] to SCHEMA [lossy]\n\
               An object that would lose a value stays where it is. A program can convert or rename its fields, and \
               `upgrade_all` of that program moves it with its values. With lossy, it moves here without them.",
        examples: &["migrate Person to 1", "migrate Person to newest lossy"],
    },
    Topic {
        word: "export",
        summary: "write whole objects as JSON lines",
        text: "export OBJECTS [where CONDITION]\nThe command `load` reads them.",
        examples: &["export Person where age > 30"],
    },
    Topic {
        word: "explain",
        summary: "say how a statement is run",
        text: "explain [run] STATEMENT\nWith run, it is run too, and what that took is counted.",
        examples: &["explain find Person where name = \"Ann\""],
    },
];

/// The help on words that begin no statement.
const PARTS: &[(&[&str], Topic)] = &[
    (
        &["where", "and", "or", "not", "in", "has", "starts", "is", "null"],
        Topic {
            word: "where",
            summary: "the objects that meet a condition",
            text: "OBJECTS where CONDITION\n\
               A CONDITION is PATH = VALUE, also with != < <= > >=; PATH in FROM..TO or ..=TO; PATH in {VALUE, …};\n\
               PATH has VALUE for an element; PATH starts \"TEXT\"; PATH is null, PATH is not null;\n\
               not CONDITION; CONDITION and CONDITION; CONDITION or CONDITION. A PATH is a field, FIELD.FIELD through a\n\
               reference, MAP[KEY], LIST[N], MAP.key, id, type or schema.",
            examples: &[
                "find Person where age >= 30 and name starts \"A\"",
                "find Person where boss.name = \"Ann\" or tags has \"x\"",
                "count Person where not (age in 20..=29 or scores[\"a\"] > 3)",
            ],
        },
    ),
    (
        &["union", "intersect", "minus", "objects"],
        Topic {
            word: "union",
            summary: "sets of objects",
            text: "OBJECTS union OBJECTS, also with intersect and minus\n\
               OBJECTS is TYPE, @ID, OBJECTS where CONDITION, OBJECTS->FIELD, OBJECTS<-TYPE.FIELD, or (OBJECTS).",
            examples: &[
                "find (Person where age > 30) union (Person where name = \"Ann\")",
                "count Person minus Person<-Person.boss",
            ],
        },
    ),
];

/// Words that are explained with a statement.
const WITH: &[(&str, &[&str])] = &[
    ("find", &["columns", "order", "by", "asc", "desc", "limit", "using", "none"]),
    ("set", &["add", "remove", "insert", "at", "put", "to", "all"]),
    ("index", &["reverse"]),
];

/// The help on a word of the language.
pub(super) fn topic(word: &str) -> Option<&'static Topic> {
    let with = WITH.iter().find(|(_, words)| words.contains(&word));
    let word = with.map_or(word, |(statement, _)| statement);
    let part = || PARTS.iter().find(|(words, _)| words.contains(&word)).map(|(_, topic)| topic);
    TOPICS.iter().find(|topic| topic.word == word).or_else(part)
}

impl Topic {
    pub(super) fn text(&self) -> String {
        let examples: String =
            self.examples.iter().map(|example| format!("    {example}\n")).collect();
        format!("{}: {}\n\n{}\n\nExamples:\n{examples}", self.word, self.summary, self.text)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The language has its own list of statements: the two agree.
    #[test]
    fn there_is_help_for_each_statement() {
        for topic in TOPICS {
            assert!(permazen_query::parse::begins_statement(topic.word), "{}", topic.word);
            for example in topic.examples {
                permazen_query::parse(example).expect(example);
            }
        }
        for (words, topic) in PARTS {
            assert!(words.contains(&topic.word));
            topic.examples.iter().for_each(|text| drop(permazen_query::parse(text).expect(text)));
        }
        // Each word of the language has help, but for constants and fields that each object has.
        for word in permazen_query::parse::keywords() {
            let is_other = ["true", "false", "id", "type", "schema", "run"].contains(&word);
            assert!(is_other || topic(word).is_some(), "{word}");
        }
        let words = [
            "find", "show", "count", "index", "create", "set", "delete", "migrate", "export",
            "explain",
        ];
        assert!(words.iter().eq(TOPICS.iter().map(|topic| &topic.word)));
    }
}
