//! What a lesson's burn program uses to tell its output apart and to keep its numbers.
//!
//! `__init__.py` beside this file holds the same four functions for the PyTorch program.
//!
//! Run by hand, a program prints a heading for each section and keeps nothing. Run with the variable
//! `LESSON_OUT`, as `make capture` does, it marks the sections for a machine and appends every value to the file
//! of that name, one JSON object a line: `{"name", "kind", "dtype", "shape", "values"}`.

use std::fs::OpenOptions;
use std::io::Write;
use std::time::Instant;

use burn::tensor::{DType, TensorData};
use serde_json::{Value, json};

/// From here on, what is printed belongs to the section `name` of the page.
pub fn section(name: &str) {
    match std::env::var_os("LESSON_OUT") {
        Some(_) => println!("\u{1e}{name}"),
        None => println!("\n== {name} =="),
    }
}

/// Keep a value that the PyTorch program records under the same name: the two are compared.
///
/// Floats are kept exactly, whatever their type; `[x]` is a scalar.
pub fn record(name: &str, value: impl Into<TensorData>) {
    keep("compared", name, value.into());
}

/// Keep a value that only this program has, for the page's sentences and claims.
pub fn note(name: &str, value: impl Into<TensorData>) {
    keep("noted", name, value.into());
}

/// Run `work` `repeats` times and keep the shortest duration, in seconds.
pub fn timing<T>(name: &str, repeats: usize, mut work: impl FnMut() -> T) {
    let seconds = (0..repeats)
        .map(|_| {
            let start = Instant::now();
            std::hint::black_box(work());
            start.elapsed().as_secs_f64()
        })
        .fold(f64::INFINITY, f64::min);
    keep("seconds", name, [seconds].into());
}

fn keep(kind: &str, name: &str, data: TensorData) {
    let Some(path) = std::env::var_os("LESSON_OUT") else {
        return;
    };
    let line = json!({
        "name": name,
        "kind": kind,
        "dtype": data.dtype().name(),
        "shape": data.shape().to_vec(),
        "values": values(&data),
    });
    let mut file = OpenOptions::new()
        .create(true)
        .append(true)
        .open(path)
        .expect("the file named by LESSON_OUT opens");
    writeln!(file, "{line}")
        .expect("the file named by LESSON_OUT takes a line");
}

/// Every number as JSON that reads back to the same bits; what JSON lacks (`NaN`, `inf`) as a string.
fn values(data: &TensorData) -> Vec<Value> {
    let float = |x: f64| {
        if x.is_finite() { json!(x) } else { json!(x.to_string()) }
    };
    match data.dtype() {
        DType::F64 | DType::F32 | DType::Flex32 | DType::F16 | DType::BF16 => {
            data.iter::<f64>().map(float).collect()
        }
        DType::Bool(_) => data.iter::<bool>().map(Value::from).collect(),
        DType::QFloat(_) => {
            panic!("quantised data is not recorded: dequantise it first")
        }
        _ => data.iter::<i64>().map(Value::from).collect(),
    }
}
