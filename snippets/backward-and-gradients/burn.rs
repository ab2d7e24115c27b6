//! One backward pass and what comes of it: where gradients live, who adds them
//! up, what may be asked twice, what a tie gets.

use burn::grad_clipping::GradientClipping;
use burn::prelude::*;
use burn::tensor::activation::{hardtanh, leaky_relu, relu, relu6};
use burn::tensor::module::max_pool1d;
use burn::tensor::ops::MaxPoolOptions;
use lesson::{note, record, section};

// --8<-- [start:graph]
/// scale * f(1), scale * f(2), … computed in f64, rounded once.
fn wave<const D: usize>(
    f: fn(f64) -> f64,
    scale: f64,
    shape: [usize; D],
    device: &Device,
) -> Tensor<D> {
    let values = (0..shape.iter().product())
        .map(|i| (scale * f((i + 1) as f64)) as f32)
        .collect();
    Tensor::from_data(TensorData::new(values, shape), device)
}

fn inputs(device: &Device) -> Tensor<2> {
    wave(f64::sin, 1.0, [4, 3], device) // [sample, feature]
}

fn weights(device: &Device) -> Tensor<2> {
    wave(f64::cos, 0.7, [3, 2], device) // [feature, output]
}

fn loss_of(x: Tensor<2>, w: Tensor<2>, b: Tensor<1>) -> Tensor<1> {
    let y = wave(f64::cos, 0.5, [x.dims()[0], 2], &x.device());
    ((x.matmul(w) + b.unsqueeze()).tanh() - y).square().mean()
}
// --8<-- [end:graph]

fn values<const D: usize>(t: &Tensor<D>) -> Vec<f32> {
    t.to_data().iter::<f32>().collect()
}

fn show<const D: usize>(t: &Tensor<D>) -> String {
    let texts = values(t).into_iter().map(|v| format!("{v:.4}"));
    texts.collect::<Vec<_>>().join(" ")
}

fn scalar(t: &Tensor<1>) -> f32 {
    t.clone().into_scalar()
}

fn leaf<const N: usize>(values: [f32; N], device: &Device) -> Tensor<1> {
    Tensor::from_data(values, device).require_grad()
}

fn styles(device: &Device) {
    section("styles");
    // --8<-- [start:styles]
    // --8<-- [part:leaves]
    let x = inputs(device);
    let w = weights(device).require_grad();
    let b = Tensor::<1>::zeros([2], device).require_grad();
    // --8<-- [part:forward]
    let loss = loss_of(x.clone(), w.clone(), b.clone());
    // --8<-- [part:backward]
    let gradients = loss.backward();
    // --8<-- [part:read]
    let w_grad = w.grad(&gradients).unwrap();
    let b_grad = b.grad(&gradients).unwrap();
    println!("loss {:.6}", scalar(&loss));
    println!("w {}", show(&w_grad));
    println!("b {}", show(&b_grad));
    println!("x has a gradient: {}", x.grad(&gradients).is_some());
    // --8<-- [end:styles]
    record("styles.x", x.into_data());
    record("styles.w", w.into_data());
    record("styles.loss", loss.into_data());
    record("styles.w.grad", w_grad.into_data());
    record("styles.b.grad", b_grad.into_data());
}

fn slot(device: &Device) {
    section("slot");
    // --8<-- [start:slot]
    // --8<-- [part:first]
    let x = leaf([1.0, 2.0], device);
    let mut squares = x.clone().square().sum().backward();
    // --8<-- [part:second]
    let cubes = x.clone().powi_scalar(3).sum().backward();
    // --8<-- [part:read]
    let of_squares = x.grad(&squares).unwrap();
    let of_cubes = x.grad(&cubes).unwrap();
    println!("squares {} cubes {}", show(&of_squares), show(&of_cubes));
    // --8<-- [part:take]
    let taken = x.grad_remove(&mut squares);
    println!("still there: {}", x.grad(&squares).is_some());
    // --8<-- [end:slot]
    assert!(taken.is_some());
    note("slot.tracked", [of_squares.is_autodiff() as i64]);
    record("slot.squares", of_squares.into_data());
    record("slot.cubes", of_cubes.into_data());
}

fn accumulate(device: &Device) {
    section("accumulate");
    // --8<-- [start:accumulate]
    // --8<-- [part:first]
    let t = leaf([1.0], device);
    let first = t.grad(&(t.clone() * 2.0).backward()).unwrap();
    println!("after the first {:?}", scalar(&first));
    // --8<-- [part:second]
    let second = t.grad(&(t.clone() * 3.0).backward()).unwrap();
    println!("after the second {:?}", scalar(&second));
    // --8<-- [end:accumulate]
    note("accumulate.second", second.to_data());
    record("accumulate.sum", (first + second).into_data());
}

fn halves(device: &Device) {
    section("halves");
    // --8<-- [start:halves]
    let (x, w) = (inputs(device), weights(device).require_grad());
    // --8<-- [part:whole]
    let loss = x.clone().matmul(w.clone()).square().mean();
    let whole = w.grad(&loss.backward()).unwrap();
    // --8<-- [part:halves]
    let mut sum = whole.zeros_like();
    for half in x.chunk(2, 0) {
        let loss = half.matmul(w.clone()).square().mean() / 2.0;
        sum = sum + w.grad(&loss.backward()).unwrap();
    }
    // --8<-- [part:read]
    println!("whole  {}", show(&whole));
    println!("halves {}", show(&sum));
    // --8<-- [end:halves]
    record("halves.whole", whole.into_data());
    record("halves.sum", sum.into_data());
}

fn shared(device: &Device) {
    section("shared");
    // --8<-- [start:shared]
    /// Encode with a matrix, decode with its transpose.
    fn tied(encoder: Tensor<2>, decoder: Tensor<2>) -> Tensor<1> {
        let x = inputs(&encoder.device());
        let code = x.clone().matmul(encoder).tanh();
        (code.matmul(decoder.transpose()) - x).square().mean()
    }

    // --8<-- [part:once]
    let w = weights(device).require_grad();
    let one = w.grad(&tied(w.clone(), w.clone()).backward()).unwrap();
    // --8<-- [part:twice]
    let first = weights(device).require_grad();
    let second = weights(device).require_grad();
    let both = tied(first.clone(), second.clone()).backward();
    let [first, second] = [first, second].map(|t| t.grad(&both).unwrap());
    // --8<-- [part:read]
    let summed = first.clone() + second.clone();
    println!("shared {}", show(&one));
    println!("summed {}", show(&summed));
    // --8<-- [end:shared]
    record("shared.one", one.into_data());
    record("shared.first", first.into_data());
    record("shared.second", second.into_data());
    record("shared.summed", summed.into_data());
}

fn detach(device: &Device) {
    section("detach");
    // --8<-- [start:detach]
    // --8<-- [part:through]
    let x = leaf([1.0, 2.0, 3.0], device);
    let y = x.clone().square();
    let through = x.grad(&(y * x.clone()).sum().backward()).unwrap();
    println!("through y  {}", show(&through));
    // --8<-- [part:cut]
    let y = x.clone().square().detach();
    let cut = x.grad(&(y.clone() * x.clone()).sum().backward()).unwrap();
    println!("y detached {}", show(&cut));
    // --8<-- [part:leaf]
    let copy = x.clone().detach();
    println!("y wants gradients: {}", y.is_require_grad());
    println!("a detached leaf wants them: {}", copy.is_require_grad());
    // --8<-- [end:detach]
    let constant = x.clone().inner();
    note("detach.result", [y.is_require_grad() as i64]);
    note("detach.leaf", [copy.is_require_grad() as i64]);
    note("detach.inner", [constant.is_require_grad() as i64]);
    let gradients = (copy.clone() * x.clone()).sum().backward();
    note("detach.copy", copy.grad(&gradients).unwrap().into_data());
    record("detach.cut", cut.into_data());
    record("detach.through", through.into_data());
}

fn input_gradient(device: &Device) {
    section("input");
    // --8<-- [start:input]
    // --8<-- [part:leaves]
    let x = inputs(device).require_grad();
    let w = weights(device);
    let b = Tensor::<1>::zeros([2], device);
    // --8<-- [part:gradient]
    let before = loss_of(x.clone(), w.clone(), b.clone());
    let gradient = x.grad(&before.backward()).unwrap();
    // --8<-- [part:step]
    let worse = x.inner() + gradient.clone().sign() * 0.1;
    let after = loss_of(worse, w, b);
    println!("loss {:.6}, then {:.6}", scalar(&before), scalar(&after));
    // --8<-- [end:input]
    record("input.gradient", gradient.into_data());
    record("input.before", before.into_data());
    record("input.after", after.into_data());
}

fn intermediate(device: &Device) {
    section("intermediate");
    // --8<-- [start:intermediate]
    // --8<-- [part:lower]
    let x = leaf([1.0, 2.0], device);
    let h = x.clone().square();
    let upper = h.clone().detach().require_grad();
    // --8<-- [part:upper]
    let gradients = upper.clone().exp().sum().backward();
    let h_grad = upper.grad(&gradients).unwrap();
    let gradients = (h * h_grad.clone()).sum().backward();
    let x_grad = x.grad(&gradients).unwrap();
    // --8<-- [part:read]
    println!("h {}", show(&h_grad));
    println!("x {}", show(&x_grad));
    // --8<-- [end:intermediate]
    record("intermediate.h", h_grad.into_data());
    record("intermediate.x", x_grad.into_data());
}

fn retain(device: &Device) {
    section("retain");
    // --8<-- [start:retain]
    let x = leaf([1.0, 2.0], device);
    let h = x.clone().square();
    let gradients = h.clone().exp().sum().backward();
    println!("h has a gradient: {}", h.grad(&gradients).is_some());
    let _ = h.require_grad();
    // --8<-- [end:retain]
}

fn vector(device: &Device) {
    section("vector");
    // --8<-- [start:vector]
    // --8<-- [part:ones]
    let x = leaf([1.0, 2.0, 3.0], device);
    let y = x.clone() * 2.0;
    let ones = x.grad(&y.backward()).unwrap();
    println!("with ones    {}", show(&ones));
    // --8<-- [part:weights]
    let v = Tensor::from_data([1.0, 10.0, 100.0], device);
    let y = x.clone() * 2.0;
    let weighted = x.grad(&(y * v).sum().backward()).unwrap();
    println!("with weights {}", show(&weighted));
    // --8<-- [end:vector]
    record("vector.weights", weighted.into_data());
    record("vector.ones", ones.into_data());
}

fn forgotten(device: &Device) {
    section("forgotten");
    // --8<-- [start:forgotten]
    let w = weights(device).require_grad();
    let y = inputs(device).matmul(w.clone());
    let losses = y.square().mean_dim(1); // one for each sample
    let mean = w.grad(&losses.mean().backward()).unwrap();
    println!("mean      {}", show(&mean));
    // --8<-- [part:forgotten]
    let y = inputs(device).matmul(w.clone());
    let losses = y.square().mean_dim(1);
    let sum = w.grad(&losses.backward()).unwrap();
    println!("no mean() {}", show(&sum));
    // --8<-- [end:forgotten]
    record("forgotten.sum", sum.into_data());
    record("forgotten.mean", mean.into_data());
}

fn twice(device: &Device) {
    section("twice");
    // --8<-- [start:twice]
    let x = leaf([1.0, 2.0], device);
    let h = x.clone().square();
    // --8<-- [part:first]
    let gradients = h.clone().sum().backward();
    println!("first  {}", show(&x.grad(&gradients).unwrap()));
    // --8<-- [part:second]
    let gradients = (h * 3.0).sum().backward();
    println!("second {}", show(&x.grad(&gradients).unwrap()));
    // --8<-- [end:twice]
}

fn together(device: &Device) {
    section("together");
    // --8<-- [start:together]
    let x = leaf([1.0, 2.0], device);
    let h = x.clone().square();
    // --8<-- [part:both]
    let both = h.clone().sum() + (h * 3.0).sum();
    let gradient = x.grad(&both.backward()).unwrap();
    // --8<-- [part:]
    println!("{}", show(&gradient));
    // --8<-- [end:together]
    record("together", gradient.into_data());
}

fn second_order(device: &Device) {
    section("second-order");
    // --8<-- [start:second-order]
    // --8<-- [part:first]
    let x = leaf([1.0, 2.0], device);
    let cubes = x.clone().powi_scalar(3).sum();
    let slope = x.grad(&cubes.backward()).unwrap();
    println!("slope     {}", show(&slope));
    println!("tracked   {}", slope.is_tracked());
    // --8<-- [part:second]
    let curvature = x.grad(&slope.sum().backward()).unwrap();
    println!("curvature {}", show(&curvature));
    // --8<-- [end:second-order]
}

fn difference(device: &Device) {
    section("difference");
    // --8<-- [start:difference]
    fn slope(at: Tensor<1>) -> Tensor<1> {
        let x = at.require_grad();
        x.grad(&x.clone().powi_scalar(3).sum().backward()).unwrap()
    }

    let at = Tensor::<1>::from_data([1.0, 2.0], device);
    let step = 2f32.powi(-7);
    let rise = slope(at.clone() + step) - slope(at - step);
    let curvature = rise / (2.0 * step);
    println!("curvature {}", show(&curvature));
    // --8<-- [end:difference]
    record("difference", curvature.into_data());
}

fn clipping(device: &Device) {
    section("clipping");
    // --8<-- [start:clipping]
    // --8<-- [part:gradients]
    let (a, b) = (leaf([1.0], device), leaf([1.0], device));
    let loss = a.clone() * 3.0 + b.clone() * 4.0;
    let gradients = loss.backward();
    let gradients = [a, b].map(|t| t.grad(&gradients).unwrap());
    // --8<-- [part:value]
    let clip = GradientClipping::Value(3.5);
    let value = gradients.clone().map(|g| clip.clip_gradient(g));
    // --8<-- [part:each]
    let clip = GradientClipping::Norm(1.0);
    let each = gradients.clone().map(|g| clip.clip_gradient(g));
    // --8<-- [part:all]
    let squares = gradients.clone().map(|g| g.square().sum());
    let norm = scalar(&Tensor::cat(squares.to_vec(), 0).sum().sqrt());
    let scale = (1.0 / norm).min(1.0);
    let all = gradients.map(|g| g * scale);
    // --8<-- [part:]
    for (name, [a, b]) in [("value", &value), ("each", &each), ("all", &all)] {
        println!("{name:5} {} {}", show(a), show(b));
    }
    // --8<-- [end:clipping]
    record("clip.value", value.map(|g| scalar(&g)));
    record("clip.each", each.map(|g| scalar(&g)));
    record("clip.all", all.map(|g| scalar(&g)));
}

fn coefficient(device: &Device) {
    section("coefficient");
    // --8<-- [start:coefficient]
    let kept = [1.0, 1e-3, 1e-6].map(|norm| {
        let t = leaf([1.0], device);
        let gradient = t.grad(&(t.clone() * norm).backward()).unwrap();
        let clip = GradientClipping::Norm(norm / 2.0);
        let kept = scalar(&clip.clip_gradient(gradient)) / norm;
        println!("norm {norm:.6}: keeps {kept:.6}");
        kept
    });
    // --8<-- [end:coefficient]
    record("coefficient", kept);
}

// --8<-- [start:edges]
fn edge<const N: usize, const D: usize>(
    name: &str,
    f: impl Fn(Tensor<1>) -> Tensor<D>,
    values: [f32; N],
) {
    let x = leaf(values, &Device::flex().autodiff());
    let gradient = x.grad(&f(x.clone()).sum().backward()).unwrap();
    let texts = self::values(&gradient).into_iter();
    let texts: Vec<_> = texts.map(|g| format!("{g:.1}")).collect();
    println!("{name:9} {}", texts.join(" "));
    record(&format!("edge.{name}"), gradient.into_data());
}
// --8<-- [end:edges]

fn edges() {
    section("alike");
    // --8<-- [start:alike]
    edge("relu", relu, [-1.0, 0.0, 1.0]);
    edge("abs", Tensor::abs, [-1.0, 0.0, 1.0]);
    edge("prod", Tensor::prod, [0.0, 2.0, 3.0]);
    edge("max_dim", |x| x.max_dim(0), [2.0, 2.0, 1.0]);
    edge("sort", |x| x.sort_descending(0).slice(0..1), [2.0, 2.0, 1.0]);
    let pool = MaxPoolOptions::new([2]);
    edge("pool", |x| max_pool1d(x.unsqueeze(), pool.clone()), [2.0, 2.0]);
    edge("sqrt", Tensor::sqrt, [0.0, 1.0]);
    edge("root", |x| x.square().sum().sqrt(), [0.0, 0.0]);
    // --8<-- [end:alike]
    section("apart");
    // --8<-- [start:apart]
    edge("max", Tensor::max, [2.0, 2.0, 1.0]);
    edge("min", Tensor::min, [2.0, 1.0, 1.0]);
    edge("amax", |x| x.max_dim(0), [2.0, 2.0, 1.0]);
    let part = |x: &Tensor<1>, i| x.clone().narrow(0, i, 1);
    edge("pair", |x| part(&x, 0).max_pair(part(&x, 1)), [2.0, 2.0]);
    edge("minpair", |x| part(&x, 0).min_pair(part(&x, 1)), [2.0, 2.0]);
    edge("clamp", |x| x.clamp(0.0, 1.0), [-1.0, 0.0, 0.5, 1.0]);
    edge("clampmin", |x| x.clamp_min(0.0), [-1.0, 0.0, 1.0]);
    edge("hardtanh", |x| hardtanh(x, -1.0, 1.0), [-1.0, 0.0, 1.0]);
    edge("leaky", |x| leaky_relu(x, 0.5), [-1.0, 0.0, 1.0]);
    edge("relu6", relu6, [-1.0, 0.0, 6.0]);
    // --8<-- [end:apart]
}

fn teaser(device: &Device) {
    section("teaser");
    // --8<-- [start:teaser]
    let x = leaf([1.0, 2.0], device);
    let h = x.clone() + x.clone();
    h.clone().sum().backward();
    let gradients = (h * 3.0).sum().backward();
    println!("{}", show(&x.grad(&gradients).unwrap()));
    // --8<-- [end:teaser]
}

fn main() {
    let device = Device::flex().autodiff();
    match std::env::args().nth(1).as_deref() {
        None => {
            styles(&device);
            slot(&device);
            accumulate(&device);
            halves(&device);
            shared(&device);
            detach(&device);
            input_gradient(&device);
            intermediate(&device);
            vector(&device);
            forgotten(&device);
            together(&device);
            difference(&device);
            clipping(&device);
            coefficient(&device);
            edges();
        }
        Some("retain") => retain(&device),
        Some("twice") => twice(&device),
        Some("second-order") => second_order(&device),
        Some("teaser") => teaser(&device),
        Some(other) => panic!("no run named {other}"),
    }
}
