use permazen::PermazenEnum;

#[derive(PermazenEnum)]
#[permazen(rename = "x")]
enum Level {
    Low = 1,
    High(i32),
    #[permazen(rename = "LOW")]
    VeryHigh,
    #[permazen(name = "MID")]
    Middle,
}

#[derive(PermazenEnum)]
enum Nothing {}

#[derive(PermazenEnum)]
struct Struct;

fn main() {}
