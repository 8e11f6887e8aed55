"""Which operations XLA computes as TensorFlow's kernels do, and what must hold for it.

An operation that is not listed is left to TensorFlow. Those of `SAME` give equal results, whatever the values, up to rounding and
numbers too small to be normal. Those of `checks` do under a condition that the compiled graph checks as it runs. XLA knows no shapes
that depend on values, so all shapes must be known, and some operands must be, too.
"""
from __future__ import annotations

from collections.abc import Iterator

import tensorflow as tf

from imp2tf.tf_compat import FuncGraph, function_graph
from imp2tf.xla.checks import CHECKS

__all__ = ["BRANCHES", "LOOPS", "bodies_of", "is_alike", "is_static", "needs_checks", "weight_of"]


def _names(text: str) -> frozenset[str]:
    return frozenset(text.split())


ELEMENTWISE = _names("""
    Abs Acos Acosh Add AddN AddV2 Asin Asinh Atan Atan2 Atanh BitwiseAnd BitwiseOr BitwiseXor Ceil Cos Cosh DivNoNan Elu Equal Erf
    Erfc Exp Expm1 Floor Greater GreaterEqual Inv Invert IsFinite IsInf IsNan LeakyRelu Less LessEqual Log Log1p LogicalAnd LogicalNot
    LogicalOr Mul MulNoNan Neg NotEqual RealDiv Reciprocal Relu Rint Round Rsqrt Select SelectV2 Selu Sigmoid SigmoidGrad Sign Sin
    Sinh Softplus SoftplusGrad Softsign SoftsignGrad Sqrt Square SquaredDifference Sub Tan Tanh TanhGrad Xdivy Xlog1py Xlogy
""")
MOVING = _names("""
    BroadcastArgs BroadcastGradientArgs BroadcastTo ConcatOffset ConcatV2 Const EnsureShape ExpandDims Fill Identity IdentityN
    InvertPermutation MatrixBandPart MatrixDiag MatrixDiagPart MatrixDiagPartV3 MatrixDiagV3 MirrorPad OneHot OnesLike Pack Pad PadV2
    PreventGradient Range Rank Reshape ReverseV2 Roll Shape ShapeN Size Slice Split SplitV Squeeze StopGradient StridedSliceGrad
    ReadVariableOp Tile Transpose Unpack VariableShape ZerosLike
""")
REDUCING = _names("""
    All Any AvgPool AvgPoolGrad BatchMatMul BatchMatMulV2 BatchMatMulV3 BiasAdd BiasAddGrad Conv2D Conv2DBackpropFilter
    Conv2DBackpropInput Cumprod Cumsum DepthwiseConv2dNative DepthwiseConv2dNativeBackpropFilter DepthwiseConv2dNativeBackpropInput
    Einsum L2Loss LogSoftmax MatMul MaxPool MaxPoolGrad Mean Prod SoftmaxCrossEntropyWithLogits Sum
""")
LISTS = _names("EmptyTensorList TensorListFromTensor TensorListLength TensorListPushBack TensorListReserve TensorListStack")
SAME = ELEMENTWISE | MOVING | REDUCING | LISTS

BRANCHES = {"If": ("then_branch", "else_branch"), "StatelessIf": ("then_branch", "else_branch")}
LOOPS = {"While": ("cond", "body"), "StatelessWhile": ("cond", "body")}
REGIONS = {**BRANCHES, **LOOPS}

# The operands that XLA must know when it compiles: it would compile anew for each of their values.
STATIC: dict[str, tuple[int, ...]] = {
    "BroadcastTo": (1,), "Conv2DBackpropFilter": (1,), "Conv2DBackpropInput": (0,), "Cumprod": (1,), "Cumsum": (1,),
    "DepthwiseConv2dNativeBackpropFilter": (1,), "DepthwiseConv2dNativeBackpropInput": (0,), "EmptyTensorList": (0, 1), "ExpandDims": (1,),
    "Fill": (0,), "GatherV2": (2,), "MatrixBandPart": (1, 2), "MatrixDiagPartV3": (1,), "MatrixDiagV3": (1, 2, 3), "MirrorPad": (1,),
    "OneHot": (1,), "Pad": (1,), "PadV2": (1,), "Range": (0, 1, 2), "Reshape": (1,), "ReverseV2": (1,), "Roll": (1, 2), "Slice": (1, 2),
    "Split": (0,),
    "SplitV": (1, 2), "StridedSliceGrad": (0, 1, 2, 3), "TensorListFromTensor": (1,), "TensorListGetItem": (2,),
    "TensorListReserve": (0, 1), "TensorListStack": (1,), "Tile": (1,), "TopKV2": (1,), "Transpose": (1,), "UnsortedSegmentSum": (2,),
    **dict.fromkeys(("All", "Any", "ArgMax", "ArgMin", "Max", "Mean", "Min", "Prod", "Sum"), (1,)),
}
STATIC_MATH = _names("""
    AddV2 BroadcastArgs BroadcastGradientArgs Cast ConcatOffset ConcatV2 ExpandDims Fill FloorDiv FloorMod GatherV2 Identity
    InvertPermutation Maximum Minimum Mul Neg Pack Prod Range Reshape Slice Squeeze StridedSlice Sub Unpack
""")
OF_SHAPES = frozenset({"Rank", "Shape", "ShapeN", "Size", "VariableShape"})
MOST_ELEMENTS = 10_000  # of a TensorList: XLA makes room for all
FREE = frozenset({"Const", "Identity", "NoOp", "Placeholder"})
OPAQUE = (tf.variant, tf.resource)


def bodies_of(graph: FuncGraph, op: tf.Operation) -> list[FuncGraph | None]:
    """The graphs that an operation may run, None for one that was not traced in this process."""
    return [function_graph(graph, op.get_attr(name).name) for name in REGIONS.get(op.type, ())]


def weight_of(op: tf.Operation) -> int:
    """How many operations are computed for one, roughly."""
    inner = [one for body in bodies_of(op.graph, op) if body is not None for one in body.get_operations()]
    return (op.type not in FREE) + sum(weight_of(one) for one in inner)


def is_static(tensor: tf.Tensor) -> bool:
    """Whether a tensor depends on nothing but constants and shapes."""
    op = tensor.op
    if op.type == "Const":
        return True
    if op.type in OF_SHAPES:
        return all(one.shape.is_fully_defined() for one in op.inputs)
    return op.type in STATIC_MATH and all(is_static(one) for one in op.inputs)


def is_alike(op: tf.Operation) -> bool:
    """Whether XLA may compute an operation, whatever the values (with the checks of `CHECKS`)."""
    if op.type == "Assert":
        return True
    if not all(map(_is_known, [*op.outputs, *op.inputs])):
        return False
    if op.type in REGIONS:
        return all(body is not None and all(map(_is_alike_inside, body.get_operations())) for body in bodies_of(op.graph, op))
    if op.type not in SAME and op.type not in CHECKS:
        return False
    return _knows_operands(op) and _has_room(op)


def _is_known(tensor: tf.Tensor) -> bool:
    """Whether XLA has such tensors, and knows the shape when it compiles."""
    if tensor.dtype in OPAQUE:
        return True
    return not tensor.dtype.is_complex and tensor.dtype != tf.string and (tensor.shape.is_fully_defined() or is_static(tensor))


def _is_alike_inside(op: tf.Operation) -> bool:
    return op.type in ("Placeholder", "NoOp") or is_alike(op)


def _knows_operands(op: tf.Operation) -> bool:
    if op.type == "StridedSlice":
        return all(is_static(one) for one in op.inputs[1:]) or _picks_only(op)
    if op.type in ("ConcatV2", "ConcatOffset"):
        return is_static(op.inputs[-1 if op.type == "ConcatV2" else 0])
    return all(is_static(op.inputs[place]) for place in STATIC.get(op.type, ()))


def _picks_only(op: tf.Operation) -> bool:
    """Whether a slice picks one item in some dimensions and leaves the others whole, as ``x[:, i]`` does."""
    picked, begins, ends = (op.get_attr(name) for name in ("shrink_axis_mask", "begin_mask", "end_mask"))
    others = [op.get_attr(name) for name in ("ellipsis_mask", "new_axis_mask")]
    places = range(op.inputs[1].shape[0])
    return not any(others) and is_static(op.inputs[3]) and all(picked >> i & 1 or (begins >> i & 1 and ends >> i & 1) for i in places)


def _has_room(op: tf.Operation) -> bool:
    if op.type != "EmptyTensorList":
        return True
    most = tf.get_static_value(op.inputs[1])
    return most is not None and 0 <= int(most) <= MOST_ELEMENTS


def needs_checks(op: tf.Operation) -> bool:
    """Whether an operation, or one inside it, has a check."""
    return op.type in CHECKS or any(map(needs_checks, _inside(op)))


def _inside(op: tf.Operation) -> Iterator[tf.Operation]:
    for body in bodies_of(op.graph, op):
        if body is not None:
            yield from body.get_operations()
