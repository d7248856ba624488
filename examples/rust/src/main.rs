//! Acquires a lock, and holds it until it is lost, or until standard input ends:
//!
//!     cargo run redis://127.0.0.1:6379 nightly-report
//!
//! Exit status: 0 released, 1 lost or an error.
mod lock;
mod native;

use std::process::ExitCode;
use std::sync::mpsc::{channel, RecvTimeoutError};
use std::time::Duration;

fn run(url: &str, name: &str) -> Result<(), String> {
    let (ended, input) = channel::<()>();
    std::thread::spawn(move || {
        let _ = std::io::copy(&mut std::io::stdin(), &mut std::io::sink());
        drop(ended);
    });

    let client = lock::Client::new(url)?;
    println!("waiting");
    let hold = client.acquire(name)?;
    println!("held");

    // The work that the lock protects: it checks again and again whether it still has the lock.
    while input.recv_timeout(Duration::from_millis(50)) == Err(RecvTimeoutError::Timeout) {
        if let Ok(reason) = hold.lost.try_recv() {
            return Err(format!("lost: {reason}")); // dropping the hold releases it
        }
    }
    hold.release()?;
    println!("released");
    Ok(())
}

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().collect();
    if arguments.len() != 3 {
        eprintln!("usage: holdfast-example URL NAME");
        return ExitCode::from(2);
    }
    match run(&arguments[1], &arguments[2]) {
        Ok(()) => ExitCode::SUCCESS,
        Err(text) => {
            eprintln!("{text}");
            ExitCode::FAILURE
        }
    }
}
