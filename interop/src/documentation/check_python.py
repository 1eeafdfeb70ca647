"""Checks expressions of the page "Coming from Python" against what is installed: that the names are there, and that the
signatures take the arguments. Reads {"expressions": [...], "modules": [...]} as JSON, writes what doesn't fit as JSON."""

import ast
import builtins
import importlib
import inspect
import json
import sys

# What the page calls its values by; their methods are a Tesseract's.
VALUES = {"tess", "inputs", "x", "y", "f", "url", "spec", "apply", "jacobian", "jac_inputs", "jac_outputs", "jvp_inputs",
          "jvp_outputs", "vjp_inputs", "vjp_outputs", "tangent_vector", "cotangent_vector"}  # fmt: skip

request = json.load(sys.stdin)
namespace = dict(vars(builtins))
for name in request["modules"]:
    module = importlib.import_module(name)
    public = getattr(module, "__all__", None) or [each for each in dir(module) if not each.startswith("_")]
    namespace.update({each: getattr(module, each) for each in public})
    namespace[name] = importlib.import_module(name)
for name, alias in request.get("aliases", {}).items():
    namespace[alias] = importlib.import_module(name)
tesseract = namespace.get("Tesseract")


def resolved(node):
    """The object that a dotted name stands for; None where it is a value's."""
    if isinstance(node, ast.Name):
        if node.id == "tess" and tesseract is not None:
            return tesseract
        if node.id in namespace:
            return namespace[node.id]
        if node.id in VALUES:
            return None
        raise LookupError(f"{node.id} is unknown")
    if isinstance(node, ast.Attribute):
        owner = resolved(node.value)
        if owner is None:
            return None
        if not hasattr(owner, node.attr):
            raise LookupError(f"{ast.unparse(node.value)} has no {node.attr}")
        return inspect.getattr_static(owner, node.attr) if owner is tesseract else getattr(owner, node.attr)
    return None


def check(node):
    if isinstance(node, (ast.Name, ast.Attribute)):
        resolved(node)
        return
    if isinstance(node, ast.Call) and isinstance(node.func, (ast.Name, ast.Attribute)):
        called = resolved(node.func)
        bound = isinstance(node.func, ast.Attribute) and isinstance(node.func.value, ast.Name) and node.func.value.id == "tess"
        if isinstance(called, (staticmethod, classmethod)):
            bound = isinstance(called, classmethod)
            called = called.__func__
        if called is not None and called not in vars(builtins).values():
            try:
                signature = inspect.signature(called)
            except (TypeError, ValueError):
                signature = None
            if signature is not None:
                given = [None] * (len(node.args) + bound)
                signature.bind(*given, **{each.arg: None for each in node.keywords})
        children = [*node.args, *(each.value for each in node.keywords)]
    else:
        children = list(ast.iter_child_nodes(node))
    for child in children:
        check(child)


faults = []
for expression in request["expressions"]:
    try:
        check(ast.parse(expression, mode="eval").body)
    except (LookupError, SyntaxError, TypeError) as error:
        faults.append(f"{expression}: {error}")
json.dump(faults, sys.stdout)
