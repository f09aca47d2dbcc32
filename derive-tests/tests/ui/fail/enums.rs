use permazen::PermazenEnum;

#[derive(PermazenEnum, Debug, Clone)]
#[permazen(rename = "x")]
enum Level {
    Low = 1,
    High(i32),
    #[permazen(rename = "LOW")]
    VeryHigh,
    #[permazen(name = "MID")]
    Middle,
}

#[derive(PermazenEnum, Debug, Clone)]
enum Nothing {}

#[derive(PermazenEnum, Debug, Clone)]
struct Struct;

fn main() {}
