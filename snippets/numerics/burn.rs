//! Float numbers in burn: their gaps, the order of additions, dtypes, and how to read a mismatch.

use std::env;
use std::process::Command;

use burn::module::Param;
use burn::nn::RmsNormConfig;
use burn::optim::{AdamConfig, GradientsParams};
use burn::prelude::*;
use burn::tensor::activation::{gelu, gelu_approximate, softmax};
use burn::tensor::{DType, Tolerance};
use lesson::{note, record, section};

#[derive(Module, Debug)]
struct Weight {
    w: Param<Tensor<1>>,
}

// --8<-- [start:numbers]
/// n numbers between 0 and 1, the same bits in both programs: the division in
/// f64 and the rounding to f32 are exact to the last bit everywhere.
fn numbers(n: usize) -> Vec<f32> {
    let x = (0..n as u64).map(|i| (i * 7919 % 10007) as f64 / 10007.0);
    x.map(|x| x as f32).collect()
}

fn tensor<const D: usize>(shape: [usize; D], device: &Device) -> Tensor<D> {
    let values = numbers(shape.iter().product());
    Tensor::from_data(TensorData::new(values, shape), device)
}
// --8<-- [end:numbers]

fn gaps() {
    section("gaps");
    // --8<-- [start:gaps]
    // --8<-- [part:gap]
    /// From an f32 to the next larger one: one ulp.
    fn gap(x: f32) -> f32 {
        x.next_up() - x
    }
    // --8<-- [part:loop]
    let places = [0.001, 1.0, 1000.0, 1e6, 16777216.0];
    for x in places {
        println!("{x:>10}  one ulp = {:.3e}", gap(x));
    }
    // --8<-- [part:lost]
    let big = 16777216.0_f32; // 2 to the power 24
    println!("{big} + 1 = {}", big + 1.0);
    // --8<-- [end:gaps]
    record("gaps", places.map(gap).as_slice());
}

fn ties(device: &Device) {
    section("ties");
    // --8<-- [start:ties]
    // --8<-- [part:cast]
    let halfway = Tensor::<1>::from_data(
        [16777217.0, 16777219.0, 16777221.0],
        (device, DType::F64),
    );
    let rounded = halfway.cast(DType::F32);
    println!("to f32: {}", rounded.to_data());
    // --8<-- [part:round]
    let halves = Tensor::<1>::from_data([0.5, 1.5, 2.5, 3.5], device);
    println!("round() of the tensor: {}", halves.clone().round().to_data());
    // --8<-- [part:language]
    println!("Rust's own 2.5.round() = {}", 2.5_f32.round());
    // --8<-- [end:ties]
    record("ties.cast", rounded.into_data());
    record("ties.round", halves.round().into_data());
    note("ties.language", [2.5_f32.round()]);
}

fn order(device: &Device) {
    section("order");
    // --8<-- [start:order]
    // --8<-- [part:loop]
    fn one_by_one(numbers: &[f32]) -> f32 {
        numbers.iter().fold(0.0, |total, x| total + x)
    }
    // --8<-- [part:orders]
    let forwards = numbers(65536);
    let mut backwards = forwards.clone();
    backwards.reverse();
    let mut smallest_first = forwards.clone();
    smallest_first.sort_by(f32::total_cmp);
    let sums = [&forwards, &backwards, &smallest_first].map(|x| one_by_one(x));
    println!("forwards        {:.4}", sums[0]);
    println!("backwards       {:.4}", sums[1]);
    println!("smallest first  {:.4}", sums[2]);
    // --8<-- [part:framework]
    let x = Tensor::<1>::from_data(forwards.as_slice(), device);
    let sum = x.clone().sum().into_scalar::<f32>();
    println!("sum()           {sum:.4}");
    // --8<-- [part:exact]
    let exact: f64 = forwards.iter().map(|&x| f64::from(x)).sum();
    println!("in f64          {exact:.4}");
    // --8<-- [end:order]
    record("order.one-by-one", sums.as_slice());
    record("order.sum", [sum]);
    record("order.mean", x.mean().into_data());
    record("order.exact", [exact]);
}

// --8<-- [start:sum-body]
/// What burn-flex's sum does with the feature `simd`: 8 vectors of partial
/// sums, added in pairs, then the lanes, one half onto the other.
fn in_lanes(numbers: &[f32], lanes: usize) -> f32 {
    let add = |a: &[f32], b: &[f32]| -> Vec<f32> {
        a.iter().zip(b).map(|(x, y)| x + y).collect()
    };
    let mut vectors = vec![vec![0.0; lanes]; 8];
    for (i, x) in numbers.iter().enumerate() {
        vectors[i / lanes % 8][i % lanes] += x;
    }
    while vectors.len() > 1 {
        vectors = vectors.chunks(2).map(|v| add(&v[0], &v[1])).collect();
    }
    let mut sum = vectors.remove(0);
    while sum.len() > 1 {
        let (low, high) = sum.split_at(sum.len() / 2);
        sum = add(low, high);
    }
    sum[0]
}
// --8<-- [end:sum-body]

fn replica(device: &Device) {
    section("replica");
    // --8<-- [start:replica]
    let tenths = vec![0.1; 1 << 18];
    let widths = [1, 4, 8, 16];
    let sums = widths.map(|lanes| in_lanes(&tenths, lanes));
    for (lanes, sum) in widths.iter().zip(sums) {
        println!("8 vectors of {lanes:>2}  {sum:.4}");
    }
    let x = Tensor::<1>::from_data(tenths.as_slice(), device);
    let sum = x.sum().into_scalar::<f32>();
    println!("burn's sum()     {sum:.4}");
    // --8<-- [end:replica]
    note("replica.sums", sums.as_slice());
    note("replica.sum", [sum]);
    note("replica.loop", [tenths.iter().fold(0.0, |total, x| total + x)]);
}

// --8<-- [start:growth]
fn growth(device: &Device) {
    for power in (10..23).step_by(2) {
        let tenths = Tensor::<1>::full([1 << power], 0.1, device);
        let exact = f64::from(0.1_f32) * f64::from(1 << power);
        let relative = |sum: f32| (f64::from(sum) - exact) / exact;
        let one_by_one = (0..1 << power).fold(0.0, |total, _| total + 0.1);
        let sum = tenths.sum().into_scalar::<f32>();
        note(&format!("growth.{power}.loop"), [relative(one_by_one)]);
        note(&format!("growth.{power}.sum"), [relative(sum)]);
        record(&format!("growth.{power}.exact"), [exact]);
    }
}
// --8<-- [end:growth]

fn product(device: &Device) {
    section("product");
    // --8<-- [start:product]
    // --8<-- [part:f32]
    let a = tensor([8, 1024], device) - 0.5;
    let b = (tensor([16, 1024], device) - 0.5).transpose();
    let c = a.clone().matmul(b.clone());
    // --8<-- [part:f64]
    let (a, b) = (a.cast(DType::F64), b.cast(DType::F64));
    let exact = a.clone().matmul(b.clone());
    let error = (c.clone().cast(DType::F64) - exact.clone()).abs();
    // --8<-- [part:size]
    let size = a.abs().matmul(b.abs());
    let worst = (error / size).max().into_scalar::<f64>();
    println!("worst error / sum of |a||b| = {worst:.1e}");
    // --8<-- [end:product]
    record("product.f32", c.into_data());
    record("product.f64", exact.into_data());
    note("product.worst", [worst]);
}

fn dtypes(device: &Device) {
    section("dtypes");
    // --8<-- [start:dtypes]
    // --8<-- [part:made]
    let host: [f64; 2] = [0.1, 0.2];
    let x = Tensor::<1>::from_data(host, device);
    println!("an array of f64 becomes {:?}", x.dtype());
    let kept = Tensor::<1>::from_data(host, (device, DType::F64));
    println!("with the dtype given    {:?}", kept.dtype());
    // --8<-- [part:scalars]
    let i = Tensor::<1, Int>::from_data([1, 2, 3], device);
    println!("integers are {:?}", i.dtype());
    println!("[1, 2, 3] * 0.5 = {}", (i.clone() * 0.5).to_data());
    println!("[1, 2, 3] + 1.5 = {}", (i.clone() + 1.5).to_data());
    // --8<-- [part:wrap]
    let i32s = Tensor::<1, Int>::from_data([i32::MAX, 1], device);
    let sum = i32s.sum();
    println!("sum of i32: {} ({:?})", sum.to_data(), sum.dtype());
    // --8<-- [end:dtypes]
    let sixteenth = kept.clone().sub(x.cast(DType::F64)).abs();
    record("dtypes.kept", kept.into_data());
    note("dtypes.lost", sixteenth.max().into_data());
    note("dtypes.times", (i.clone() * 0.5).into_data());
    note("dtypes.plus", (i + 1.5).into_data());
    note("dtypes.sum", sum.into_data());
}

fn promotion(device: &Device) {
    section("promotion");
    // --8<-- [start:promotion]
    let single = Tensor::<1>::from_data([0.1], device);
    let double = Tensor::<1>::from_data([0.1], (device, DType::F64));
    println!("{:?} + {:?}", single.dtype(), double.dtype());
    println!("{}", (single + double).to_data());
    // --8<-- [end:promotion]
}

fn adam(device: &Device) {
    section("adam");
    // --8<-- [start:adam]
    // --8<-- [part:start]
    let device = device.clone().autodiff();
    let zero = Tensor::<1>::from_data([0.0], (&device, DType::F64));
    let mut w = Weight { w: Param::from_tensor(zero) };
    let mut adam = AdamConfig::new().with_epsilon(1e-8).init();
    // --8<-- [part:steps]
    let steps = [0.1, 0.2, 0.3].map(|gradient| {
        let loss = (w.w.val() * gradient).sum();
        let gradients = GradientsParams::from_grads(loss.backward(), &w);
        w = adam.step(1e-3, w.clone(), gradients);
        w.w.val().into_scalar::<f64>()
    });
    // --8<-- [part:print]
    println!("after step 1: {:.14}", steps[0]);
    println!("after step 3: {:.14}", steps[2]);
    // --8<-- [end:adam]
    record("adam", steps.as_slice());
}

/// RMSNorm with the same epsilon as PyTorch's, on f64 tensors.
fn rms_f64(device: &Device) {
    // --8<-- [start:rms]
    let x = (tensor([2, 64], device) - 0.5).cast(DType::F64);
    let mut norm = RmsNormConfig::new(64).with_epsilon(1e-5).init(device);
    norm.gamma = Param::from_tensor(norm.gamma.val().cast(DType::F64));
    let y = norm.forward(x);
    // --8<-- [end:rms]
    record("rms", y.into_data());
}

fn half(device: &Device) {
    section("half");
    // --8<-- [start:half]
    // --8<-- [part:round]
    let x = Tensor::<1>::from_data([1.0 / 3.0, 257.0, 2049.0], device);
    let (f16, bf16) = (x.clone().cast(DType::F16), x.cast(DType::BF16));
    println!("f16   {}", f16.to_data());
    println!("bf16  {}", bf16.to_data());
    // --8<-- [part:overflow]
    let x = Tensor::<1>::from_data([65519.0, 65520.0], device);
    let (large, wide) = (x.clone().cast(DType::F16), x.cast(DType::BF16));
    println!("f16   {}", large.to_data());
    println!("bf16  {}", wide.to_data());
    // --8<-- [part:reduce]
    let x = Tensor::<1>::from_data([60000.0, 60000.0], (device, DType::F16));
    let (sum, mean) = (x.clone().sum(), x.mean());
    println!("sum {}, mean {}", sum.to_data(), mean.to_data());
    // --8<-- [end:half]
    record("half.f16", f16.into_data());
    record("half.bf16", bf16.into_data());
    record("half.f16-large", large.into_data());
    record("half.bf16-large", wide.into_data());
    record("half.sum", sum.into_data());
    record("half.mean", mean.into_data());
}

fn counting(device: &Device) {
    section("counting");
    // --8<-- [start:counting]
    for dtype in [DType::F16, DType::BF16] {
        let ones = Tensor::<1>::ones([4096], (device, dtype));
        let mut total = Tensor::<1>::zeros([1], (device, dtype));
        for _ in 0..4096 {
            total = total + 1;
        }
        let (sum, mean) = (ones.clone().sum(), ones.mean());
        println!("one by one {}", total.to_data());
        println!("sum() {}, mean() {}", sum.to_data(), mean.to_data());
        // --8<-- [end:counting]
        let name = dtype.name();
        record(&format!("counting.{name}.loop"), total.into_data());
        record(&format!("counting.{name}.sum"), sum.into_data());
        record(&format!("counting.{name}.mean"), mean.into_data());
    }
}

fn defaults(device: &Device) {
    section("defaults");
    // --8<-- [start:defaults]
    // --8<-- [part:values]
    let right = Tensor::<1>::from_data([1.0, 2.0, 3.0], device);
    let off = right.clone() * 1.004;
    // --8<-- [part:assert]
    let default = Tolerance::<f32>::default();
    right.to_data().assert_approx_eq(&off.to_data(), default);
    println!("assert_approx_eq: passed");
    // --8<-- [part:strict]
    let as_pytorch = Tolerance::<f32>::rel_abs(1.3e-6, 1e-5);
    println!("PyTorch's numbers: {}", as_pytorch.approx_eq(1.0, 1.004));
    // --8<-- [end:defaults]
    record("defaults.off", (off / right - 1.0).max().into_data());
}

// --8<-- [start:cases]
/// What a port might look like: one right, three with something wrong.
fn cases(x: Tensor<2>, w: Tensor<2>) -> [(&'static str, Tensor<2>); 4] {
    let device = x.device();
    // --8<-- [part:rounding]
    let rounding = x.clone().matmul(w.clone().transpose());
    // --8<-- [part:formula]
    let formula = gelu_approximate(rounding.clone());
    // --8<-- [part:layout]
    let layout = x.clone().matmul(w);
    // --8<-- [part:default]
    let mut norm = RmsNormConfig::new(64).init(&device);
    norm.gamma = Param::from_tensor(norm.gamma.val().cast(x.dtype()));
    let default = norm.forward(x);
    // --8<-- [part:]
    [
        ("rounding", rounding),
        ("formula", formula),
        ("layout", layout),
        ("default", default),
    ]
}
// --8<-- [end:cases]

fn mismatches(device: &Device) {
    let x = tensor([2, 64], device) - 0.5;
    let w = tensor([64, 64], device) * 0.5 - 0.25;
    // --8<-- [start:settings]
    let wide = |x: &Tensor<2>| x.clone().cast(DType::F64);
    for (setting, x, w) in [
        ("f32", x.clone(), w.clone()),
        ("f64", wide(&x), wide(&w)),
        ("small", x.clone() * 0.125, w.clone()),
    ] {
        for (case, y) in cases(x, w) {
            record(&format!("{case}.{setting}"), y.into_data());
        }
    }
    // --8<-- [end:settings]
    // --8<-- [start:mended]
    let formula = gelu(x.clone().matmul(w.transpose()));
    let epsilon = f64::from(f32::EPSILON);
    let norm = RmsNormConfig::new(64).with_epsilon(epsilon).init(device);
    let default = norm.forward(x);
    // --8<-- [end:mended]
    record("formula.mended", formula.into_data());
    record("default.mended", default.into_data());
}

/// All bits of a tensor in one number.
fn fingerprint<const D: usize>(tensor: Tensor<D>) -> [i64; 1] {
    let bits = tensor.into_data().try_to_vec::<f32>().unwrap();
    let mix = |h: i64, x: f32| {
        h.wrapping_mul(31).wrapping_add(i64::from(x.to_bits()))
    };
    [bits.into_iter().fold(0, mix)]
}

// --8<-- [start:kernels]
fn kernels(n: &str, device: &Device) {
    let a = tensor([256, 256], device) - 0.5;
    let product = a.clone().matmul(a.clone().transpose());
    note(&format!("{n}.matmul"), fingerprint(product));
    note(&format!("{n}.softmax"), fingerprint(softmax(a, 1)));
    let x = tensor([1 << 20], device);
    note(&format!("{n}.sum"), fingerprint(x.sum()));
    // 8 million numbers, added up until another result appears
    let x = tensor([1 << 23], device);
    let sum = || x.clone().sum().into_scalar::<f32>();
    let first = sum();
    let varies = (0..500).any(|_| sum() != first);
    note(&format!("{n}.varies"), [varies]);
}

/// Rayon reads its variable once per process, so each count gets its own.
fn threads() {
    for n in ["1", "4"] {
        let mut program = Command::new(env::current_exe().unwrap());
        program.arg("kernels").env("RAYON_NUM_THREADS", n);
        assert!(program.status().unwrap().success());
    }
}
// --8<-- [end:kernels]

fn main() {
    let device = Device::flex();
    match env::args().nth(1).as_deref() {
        None => {
            gaps();
            ties(&device);
            order(&device);
            replica(&device);
            growth(&device);
            product(&device);
            dtypes(&device);
            adam(&device);
            rms_f64(&device);
            half(&device);
            defaults(&device);
            mismatches(&device);
        }
        Some("promotion") => promotion(&device),
        Some("counting") => counting(&device),
        Some("threads") => threads(),
        Some("kernels") => {
            let n = env::var("RAYON_NUM_THREADS").unwrap();
            kernels(&format!("rayon-{n}"), &device);
        }
        Some(other) => panic!("no run named {other}"),
    }
}
