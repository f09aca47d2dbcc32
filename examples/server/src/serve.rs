//! The server: a line with a JSON object in, a line with JSON out.

use std::future::{Future, poll_fn};
use std::io;
use std::pin::pin;
use std::task::Poll;

use permazen::Permazen;
use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::watch;
use tokio::task::{JoinSet, spawn_blocking};

use super::desk;

/// Serves until `stop` becomes true. Then it takes no more requests, and ends when those that it
/// has taken are answered.
pub async fn serve(
    db: Permazen,
    listener: TcpListener,
    mut stop: watch::Receiver<bool>,
) -> io::Result<()> {
    let mut clients = JoinSet::new();
    while let Some(accepted) = unless(&mut stop, listener.accept()).await {
        // A client that is gone again, or too many open files: the others are served.
        if let Ok((stream, _)) = accepted {
            clients.spawn(client(db.clone(), stream, stop.clone()));
        }
        while clients.try_join_next().is_some() {}
    }
    while clients.join_next().await.is_some() {}
    Ok(())
}

/// Answers the requests of one client, one after the other.
async fn client(
    db: Permazen,
    mut stream: TcpStream,
    mut stop: watch::Receiver<bool>,
) -> io::Result<()> {
    let (from, mut to) = stream.split();
    let mut lines = BufReader::new(from).lines();
    while let Some(line) = unless(&mut stop, lines.next_line()).await {
        let Some(line) = line? else { break };
        let db = db.clone();
        // A transaction waits for the disk and for others, so it has a thread of its own. If the
        // client goes away, the transaction still ends.
        let answer = spawn_blocking(move || desk::answer(&db, &line)).await;
        let answer = answer.map_err(io::Error::other)?;
        to.write_all(format!("{answer}\n").as_bytes()).await?;
    }
    Ok(())
}

/// The result of the work, or `None` if the server has to stop before.
async fn unless<T>(stop: &mut watch::Receiver<bool>, work: impl Future<Output = T>) -> Option<T> {
    let mut work = pin!(work);
    let mut stop = pin!(async { drop(stop.wait_for(|stop| *stop).await) });
    poll_fn(|context| match stop.as_mut().poll(context) {
        Poll::Ready(()) => Poll::Ready(None),
        Poll::Pending => work.as_mut().poll(context).map(Some),
    })
    .await
}
