//! Plots as SVG, drawn by hand.

use std::fmt::Write;

const WIDTH: f64 = 720.0;
const COLOURS: [&str; 6] = ["#c0392b", "#2c6fbb", "#7fb3e6", "#e08e0b", "#3c8d40", "#7d5ba6"];

fn start(height: f64, title: &str) -> String {
    format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {WIDTH} {height}\" \
         font-family=\"sans-serif\" font-size=\"12\">\n<rect width=\"{WIDTH}\" height=\"{height}\" fill=\"white\"/>\n\
         <text x=\"{x}\" y=\"20\" text-anchor=\"middle\" font-size=\"14\">{title}</text>\n",
        x = WIDTH / 2.0,
    )
}

fn text(out: &mut String, (x, y): (f64, f64), anchor: &str, text: &str) {
    let _ = writeln!(out, "<text x=\"{x:.1}\" y=\"{y:.1}\" text-anchor=\"{anchor}\">{text}</text>");
}

fn line(out: &mut String, (x1, y1): (f64, f64), (x2, y2): (f64, f64), colour: &str) {
    let _ = writeln!(
        out,
        "<line x1=\"{x1:.1}\" y1=\"{y1:.1}\" x2=\"{x2:.1}\" y2=\"{y2:.1}\" stroke=\"{colour}\"/>"
    );
}

fn rect(out: &mut String, (x, y): (f64, f64), (width, height): (f64, f64), colour: &str) {
    let width = width.max(1.0);
    let _ = writeln!(
        out,
        "<rect x=\"{x:.1}\" y=\"{y:.1}\" width=\"{width:.1}\" height=\"{height:.1}\" fill=\"{colour}\"/>"
    );
}

fn legend(out: &mut String, names: &[&str], y: f64) {
    let step = (WIDTH - 40.0) / names.len().max(1) as f64;
    for (at, name) in names.iter().enumerate() {
        let x = 20.0 + at as f64 * step;
        rect(out, (x, y - 10.0), (10.0, 10.0), COLOURS[at % COLOURS.len()]);
        text(out, (x + 14.0, y), "start", name);
    }
}

/// Bars from zero, and a mark at the goal of each.
pub fn ratios(title: &str, bars: &[(&str, f64, Option<f64>)]) -> String {
    let (left, row) = (260.0, 22.0);
    let height = 60.0 + row * bars.len() as f64;
    let mut out = start(height, title);
    let most = bars.iter().map(|bar| bar.1).fold(2.0, f64::max);
    let x = |value: f64| left + (WIDTH - left - 50.0) * value / most;
    for (at, (name, ratio, goal)) in bars.iter().enumerate() {
        let y = 36.0 + row * at as f64;
        text(&mut out, (left - 8.0, y + 12.0), "end", name);
        let colour = if goal.is_some_and(|goal| *ratio > goal) { COLOURS[3] } else { COLOURS[4] };
        rect(&mut out, (left, y), (x(*ratio) - left, row - 6.0), colour);
        if let Some(goal) = goal {
            rect(&mut out, (x(*goal) - 1.0, y - 2.0), (2.0, row - 2.0), "black");
        }
        text(&mut out, (x(*ratio) + 5.0, y + 12.0), "start", &format!("{ratio:.2}"));
    }
    line(&mut out, (x(1.0), 30.0), (x(1.0), height - 20.0), "#888");
    text(&mut out, (x(1.0), height - 6.0), "middle", "1 = by hand");
    out + "</svg>\n"
}

/// For each line a bar for each side, on a logarithmic scale of nanoseconds.
pub fn bars(title: &str, sides: &[&str], lines: &[(&str, Vec<Option<f64>>)]) -> String {
    let (left, bar) = (260.0, 9.0);
    let group = bar * sides.len() as f64 + 8.0;
    let height = 70.0 + group * lines.len() as f64;
    let mut out = start(height, title);
    legend(&mut out, sides, 40.0);
    let values = lines.iter().flat_map(|(_, values)| values.iter().flatten().copied());
    let (low, high) = bounds(values);
    let x =
        |value: f64| left + (WIDTH - left - 70.0) * (value.log10() - low) / (high - low).max(1.0);
    for power in low as i32..=high as i32 {
        let at = x(10f64.powi(power));
        line(&mut out, (at, 50.0), (at, height - 20.0), "#ddd");
        text(&mut out, (at, height - 6.0), "middle", &super::time(10f64.powi(power)));
    }
    for (at, (name, values)) in lines.iter().enumerate() {
        let top = 52.0 + group * at as f64;
        text(&mut out, (left - 8.0, top + group / 2.0), "end", name);
        for (side, value) in values.iter().enumerate() {
            let Some(value) = value else { continue };
            let y = top + bar * side as f64;
            let colour = COLOURS[side % COLOURS.len()];
            rect(&mut out, (left, y), (x(*value) - left, bar - 1.0), colour);
            let label = super::time(*value);
            let _ = writeln!(
                out,
                "<text x=\"{:.1}\" y=\"{:.1}\" font-size=\"9\">{label}</text>",
                x(*value) + 4.0,
                y + 8.0
            );
        }
    }
    out + "</svg>\n"
}

/// The powers of ten below and above all values.
fn bounds(values: impl Iterator<Item = f64> + Clone) -> (f64, f64) {
    let low = values.clone().fold(f64::MAX, f64::min).max(0.1).log10().floor();
    (low, values.fold(1.0, f64::max).log10().ceil().max(low + 1.0))
}

/// A curve for each side, on logarithmic scales: how many objects, and nanoseconds.
pub fn curves(title: &str, sides: &[&str], sizes: &[usize], values: &[Vec<Option<f64>>]) -> String {
    let height = 360.0;
    let mut out = start(height, title);
    legend(&mut out, sides, 40.0);
    let (low, high) = bounds(values.iter().flatten().flatten().copied());
    let (from, to) = bounds(sizes.iter().map(|size| *size as f64));
    let x = |size: f64| 80.0 + (WIDTH - 120.0) * (size.log10() - from) / (to - from).max(1.0);
    let y = |value: f64| {
        height - 40.0 - (height - 100.0) * (value.log10() - low) / (high - low).max(1.0)
    };
    for power in low as i32..=high as i32 {
        let at = y(10f64.powi(power));
        line(&mut out, (80.0, at), (WIDTH - 40.0, at), "#ddd");
        text(&mut out, (74.0, at + 4.0), "end", &super::time(10f64.powi(power)));
    }
    for size in sizes {
        text(&mut out, (x(*size as f64), height - 20.0), "middle", &super::grouped(*size));
    }
    for (side, values) in values.iter().enumerate() {
        let colour = COLOURS[side % COLOURS.len()];
        let points = sizes.iter().zip(values);
        let points = points.filter_map(|(size, value)| Some((x(*size as f64), y((*value)?))));
        let points: Vec<(f64, f64)> = points.collect();
        let list: Vec<String> = points.iter().map(|(x, y)| format!("{x:.1},{y:.1}")).collect();
        let _ = writeln!(
            out,
            "<polyline points=\"{}\" fill=\"none\" stroke=\"{colour}\" stroke-width=\"2\"/>",
            list.join(" ")
        );
        for (x, y) in points {
            let _ =
                writeln!(out, "<circle cx=\"{x:.1}\" cy=\"{y:.1}\" r=\"3\" fill=\"{colour}\"/>");
        }
    }
    out + "</svg>\n"
}
