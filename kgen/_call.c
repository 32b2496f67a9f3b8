/* The fast path in C: it does the same as the functions of kgen/call/fastpath/same_layout.py and same_class.py, in a third of
 * the time.
 *
 * A Call is made from a description (kgen/call/fastpath/native.py) of one call: what its arguments have to be, where their
 * memory has to lie, what is allocated, and which kernels are launched with which parameters.  Called as
 * call(args, out, stream, named), it returns the result, or NotImplemented for any other kind of call; nothing has run
 * then.  Parameters are put together on the C stack, so threads share nothing, and the GIL is released for launches.
 */
#define PY_SSIZE_T_CLEAN
#include <Python.h>
#include <structmember.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#define MAX_VALUES 64     /* arguments and outputs of one call */
#define MAX_OPERANDS 64
#define MAX_BYTES 8192    /* of parameters, over all kernels of one call */
#define MAX_PARAMETERS 512
#define MAX_KERNELS 32
#define NO_MEMORY -1 /* the place of an array without elements */
#define INVALID_CONTEXT 201
#define INVALID_HANDLE 400

/* Address and layout of an array: from a NumPy array's struct, or from its library's DLPack function.  Both are public C
 * interfaces; native.py checks the first before it is used. */
#define MAX_VIEWED 8 /* dimensions */
typedef struct {
    const void *data;
    const void *kind;   /* NumPy's dtype, which an Again keeps alive; or DLPack's, packed */
    int64_t place;      /* whether it may be written; or DLPack's device, packed */
    int dimensions;
    int64_t extents[MAX_VIEWED], strides[MAX_VIEWED];
} View;
typedef struct { /* PyArrayObject_fields */
    PyObject_HEAD
    char *data;
    int dimensions;
    Py_intptr_t *extents, *strides;
    PyObject *base, *dtype;
    int flags;
} NumpyArray;
#define NUMPY_WRITEABLE 0x0400
typedef struct {
    void *data;
    int32_t device[2];
    int32_t dimensions;
    unsigned char dtype[4];
    int64_t *extents, *strides;
    uint64_t offset;
} DlTensor;
typedef int (*DlRead)(void *, DlTensor *);
typedef struct {
    uint32_t major, minor;
    void *previous, *allocate, *managed, *to_python;
    DlRead read; /* borrows everything; NULL where a library has none */
} DlInterface;

/* The driver's structs, whose layout is part of its ABI. */
typedef struct { unsigned id; char pad[4]; union { char room[64]; unsigned dim[3]; int flag; } value; } Attribute;
typedef struct {
    unsigned grid[3], block[3], shared;
    void *stream;
    Attribute *attributes;
    unsigned count;
} Config;
typedef int (*LaunchCuda)(const Config *, void *, void **, void **);
typedef char *(*LaunchCpu)(uint64_t, uint64_t, uint64_t, uint64_t, uint64_t, uint64_t, uint64_t, uint64_t, uint64_t,
                           uint64_t, void *, unsigned, unsigned);
typedef int (*GetContext)(void **);
typedef int (*SetContext)(void *);

typedef struct { int value; PyObject *object, *path, *expected; int call; } Condition; /* of a value, or of an object */
typedef struct { int i, j, exact; int64_t first, second; } Apart;
typedef struct { int offset, index; char code; uint64_t add; } Variable; /* add: from an operand's address to a view's */
#define IS_POINTER(code) ((code) == 'P' || (code) == 'V') /* V: added to what rules stored */
typedef struct { int offset; unsigned long long start; } Shared;
typedef struct {
    uint64_t function;
    unsigned grid[3], block[3], shared, threads;
    Attribute attributes[3];
    unsigned count;
    int first, parameters; /* into offsets */
} Kernel;

/* Any layout of a class (kgen/call/fastpath/layout_class.py): a program over registers computes what depends on extents,
 * strides and addresses.  A step either computes its register, or is a guard. */
#define MAX_REGISTERS 2048
typedef union { int64_t i; double f; } Register;
typedef struct { char operation; int to, a, b; } Step;
typedef struct { int value, dimensions, unit; } Source; /* an array; unit: bytes of a stride of 1, as its library counts */
typedef struct { int offset; char code; int from; } Stored;
typedef struct {
    Py_ssize_t source_count, step_count, stored_count, register_count, input_count;
    Source *sources;
    Step *steps;
    Stored *stored;
    Register *initial;     /* of inputs: nothing; then constants */
    int *grids;            /* three registers for each kernel */
    PyObject *shape, *strides; /* names of attributes */
    int is_method;         /* strides() */
    PyObject *sizes;       /* for each output that is allocated, tuples of the registers of extents and of strides */
    PyObject *keys, *known; /* registers whose values have to be one of the known tuples */
} Rules;

typedef struct {
    PyObject_HEAD
    vectorcallfunc vectorcall;
    Rules *rules;        /* NULL: one layout */
    PyObject *types;     /* tuple: the exact type of each value */
    PyObject *names;     /* tuple: of arguments that are given by name */
    PyObject *alike;     /* callable over `checked`, or NULL */
    PyObject *unless;    /* callable that has to be false, or NULL */
    PyObject *fresh;     /* tuple, for each output that is allocated, of a function and its arguments */
    PyObject *pointer;   /* callable, or tuple of attribute names */
    PyObject *current;   /* callable that gives the current stream; NULL: the CPU, which has none */
    PyObject *handle;    /* callable that gives a given stream's handle */
    PyObject *failed;    /* callable (kernel, status) that raises */
    PyObject *mark_written; /* callable over a tuple of the values that change, or NULL */
    PyObject *acquire, *release, *owner; /* callables for a parameter buffer, and the path to its scratch address; or NULL */
    PyObject *engine, *here, *ran_on;
    Py_ssize_t args, outs, checked_count, same_count, condition_count, operands, apart_count, variable_count, kernel_count, shared_count;
    Py_ssize_t written_count, hits; /* hits: how often a call was this one */
    int out_is_tuple, pointer_is_method, one_result, moves; /* moves: an array may change its memory */
    int is_numpy;        /* arrays are NumPy's, whose struct is known */
    DlRead read;         /* the library's DLPack function, or NULL */
    PyGetSetDef *records; /* an attribute that has to be False */
    PyObject *records_of; /* its owner, kept alive */
    int checked[MAX_VALUES], same[MAX_VALUES][2];
    int where[MAX_OPERANDS];  /* each operand's value, or -1 - the number of a fresh output */
    int place[MAX_OPERANDS];  /* its address modulo 16, or NO_MEMORY */
    int written[MAX_OPERANDS];
    Py_ssize_t result_count;
    int results[MAX_VALUES];
    Condition *conditions;
    Apart *apart;
    Variable *variables;
    Kernel *kernels;
    Shared *shared; /* pointers to scratch memory */
    int offsets[MAX_PARAMETERS];
    unsigned char image[MAX_BYTES];
    Py_ssize_t bytes;
    uint64_t launch, get_context, set_context, context;
} Call;

static PyObject *miss(void) { Py_RETURN_NOTIMPLEMENTED; }

/* Ignores an error of an array's attribute, which the full path reports better.  Others pass through: a signal handler
 * may raise wherever Python code runs. */
static int forget(void) {
    if (!PyErr_ExceptionMatches(PyExc_AttributeError) && !PyErr_ExceptionMatches(PyExc_RuntimeError)) return -1;
    PyErr_Clear();
    return 0;
}

static PyObject *follow(PyObject *x, PyObject *path, int call) {
    Py_INCREF(x);
    for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(path); i++) {
        PyObject *name = PyTuple_GET_ITEM(path, i);
        int last = i + 1 == PyTuple_GET_SIZE(path);
        PyObject *next = last && call ? PyObject_CallMethodNoArgs(x, name) : PyObject_GetAttr(x, name);
        Py_DECREF(x);
        if (!next) return NULL;
        x = next;
    }
    return x;
}

/* 1 or 0; -1 with an error, as in all checks. */
static int holds(const Condition *c, PyObject *x) {
    PyObject *found = follow(x, c->path, c->call);
    if (!found) return forget();
    int equal = found == c->expected ? 1 : PyObject_RichCompareBool(found, c->expected, Py_EQ);
    Py_DECREF(found);
    return equal;
}

static int address(Call *self, PyObject *x, uint64_t *found) {
    PyObject *number;
    if (PyTuple_CheckExact(self->pointer)) {
        number = follow(x, self->pointer, self->pointer_is_method);
        if (!number) return forget();
    } else {
        number = PyObject_CallOneArg(self->pointer, x);
        if (!number) return -1;
    }
    *found = PyLong_AsUnsignedLongLong(number);
    Py_DECREF(number);
    return *found == (uint64_t)-1 && PyErr_Occurred() ? -1 : 1;
}

static int lies_at(int place, uint64_t pointer) {
    return place == NO_MEMORY ? !pointer : pointer && (int)(pointer & 15) == place;
}

static int write_integer(unsigned char *to, PyObject *x, int bytes, int is_signed) {
    if (is_signed) {
        long long v = PyLong_AsLongLong(x);
        if (v == -1 && PyErr_Occurred()) return -1;
        if (bytes < 8 && (v < -(1ll << (8 * bytes - 1)) || v >= 1ll << (8 * bytes - 1))) return -1;
        memcpy(to, &v, bytes);
    } else {
        unsigned long long v = PyLong_AsUnsignedLongLong(x);
        if (v == (unsigned long long)-1 && PyErr_Occurred()) return -1;
        if (bytes < 8 && v >= 1ull << (8 * bytes)) return -1;
        memcpy(to, &v, bytes);
    }
    return 0;
}

static int write_float(unsigned char *to, double v, int bytes) {
    char *at = (char *)to;
    return bytes == 2 ? PyFloat_Pack2(v, at, 1) : bytes == 4 ? PyFloat_Pack4(v, at, 1) : PyFloat_Pack8(v, at, 1);
}

/* Converts a scalar to the kernel's dtype; -1 for one that does not fit. */
static int write_scalar(unsigned char *to, PyObject *x, char code) {
    switch (code) {
    case '?': { int v = PyObject_IsTrue(x); if (v < 0) return -1; *to = (unsigned char)v; return 0; }
    case 'b': return PyLong_Check(x) ? write_integer(to, x, 1, 1) : -1;
    case 'h': return PyLong_Check(x) ? write_integer(to, x, 2, 1) : -1;
    case 'i': return PyLong_Check(x) ? write_integer(to, x, 4, 1) : -1;
    case 'q': return PyLong_Check(x) ? write_integer(to, x, 8, 1) : -1;
    case 'B': return PyLong_Check(x) ? write_integer(to, x, 1, 0) : -1;
    case 'H': return PyLong_Check(x) ? write_integer(to, x, 2, 0) : -1;
    case 'I': return PyLong_Check(x) ? write_integer(to, x, 4, 0) : -1;
    case 'Q': return PyLong_Check(x) ? write_integer(to, x, 8, 0) : -1;
    case 'F': case 'D': {
        Py_complex z = PyComplex_AsCComplex(x);
        int bytes = code == 'F' ? 4 : 8;
        if (z.real == -1.0 && PyErr_Occurred()) return -1;
        return write_float(to, z.real, bytes) || write_float(to + bytes, z.imag, bytes) ? -1 : 0;
    }
    default: {
        double v = PyFloat_AsDouble(x);
        if (v == -1.0 && PyErr_Occurred()) return -1;
        return write_float(to, v, code == 'e' ? 2 : code == 'f' ? 4 : 8);
    }
    }
}

/* The arguments, then given outputs (borrowed); 0 if their number differs from the description. */
static int collect(Call *self, PyObject *args, PyObject *out, PyObject *named, PyObject **values) {
    Py_ssize_t count = 0, by_name = PyTuple_GET_SIZE(self->names);
    if (PyTuple_GET_SIZE(args) != self->args || PyDict_GET_SIZE(named) != by_name) return 0;
    for (Py_ssize_t i = 0; i < self->args; i++) values[count++] = PyTuple_GET_ITEM(args, i);
    for (Py_ssize_t i = 0; i < by_name; i++) {
        PyObject *value = PyDict_GetItemWithError(named, PyTuple_GET_ITEM(self->names, i));
        if (!value) return PyErr_Occurred() ? -1 : 0;
        values[count++] = value;
    }
    if (self->outs == 0) {
        if (out != Py_None) return 0;
    } else if (!self->out_is_tuple) {
        values[count++] = out;
    } else {
        if (!PyTuple_CheckExact(out) || PyTuple_GET_SIZE(out) != self->outs) return 0;
        for (Py_ssize_t i = 0; i < self->outs; i++) values[count++] = PyTuple_GET_ITEM(out, i);
    }
    for (Py_ssize_t i = 0; i < count; i++)
        if ((PyObject *)Py_TYPE(values[i]) != PyTuple_GET_ITEM(self->types, i)) return 0;
    return 1;
}

/* 1 if the arrays match the description, 0 if not, -1 with an error. */
static int recognised(Call *self, PyObject **values) {
    for (Py_ssize_t i = 0; i < self->same_count; i++)
        if (values[self->same[i][0]] != values[self->same[i][1]]) return 0;
    if (self->alike) {
        PyObject *checked[MAX_VALUES];
        for (Py_ssize_t i = 0; i < self->checked_count; i++) checked[i] = values[self->checked[i]];
        PyObject *found = PyObject_Vectorcall(self->alike, checked, self->checked_count, NULL);
        if (!found) return -1;
        int is_true = found == Py_True;
        Py_DECREF(found);
        if (!is_true) return 0;
    }
    for (Py_ssize_t i = 0; i < self->condition_count; i++) {
        const Condition *c = &self->conditions[i];
        int held = holds(c, c->object ? c->object : values[c->value]);
        if (held != 1) return held;
    }
    if (self->unless) {
        PyObject *found = PyObject_CallNoArgs(self->unless);
        if (!found) return -1;
        int is_false = found == Py_False;
        Py_DECREF(found);
        return is_false;
    }
    return 1;
}

static int apart(const Call *self, const uint64_t *pointers) {
    for (Py_ssize_t n = 0; n < self->apart_count; n++) {
        const Apart *a = &self->apart[n];
        uint64_t p = pointers[a->i], q = pointers[a->j];
        if (a->exact ? (int64_t)(p - q) != a->first : !(p + a->first <= q || q + a->second <= p)) return 0;
    }
    return 1;
}

/* 0, or the status of a failed launch, whose number is stored in `which`. */
static uint64_t launch(Call *self, uint64_t stream, unsigned char *memory, const unsigned (*grids)[3], int *which) {
    uint64_t status = 0;
    void *parameters[MAX_PARAMETERS];
    for (int k = 0; k < self->kernel_count && !status; k++) {
        Kernel *kernel = &self->kernels[k];
        const unsigned *g = grids ? grids[k] : kernel->grid, *b = kernel->block;
        for (int i = 0; i < kernel->parameters; i++) parameters[i] = memory + self->offsets[kernel->first + i];
        *which = k;
        if (!self->current) {
            LaunchCpu run = (LaunchCpu)(uintptr_t)kernel->function;
            status = (uint64_t)(uintptr_t)run(g[0], g[1], g[2], b[0], b[1], b[2], 1, 1, 1, kernel->shared, parameters,
                                              kernel->threads, 0);
            continue;
        }
        Config config;
        memcpy(config.grid, g, sizeof config.grid);
        memcpy(config.block, b, sizeof config.block);
        config.shared = kernel->shared;
        config.stream = (void *)(uintptr_t)stream;
        config.attributes = kernel->attributes;
        config.count = kernel->count;
        LaunchCuda run = (LaunchCuda)(uintptr_t)self->launch;
        status = (uint64_t)run(&config, (void *)(uintptr_t)kernel->function, parameters, NULL);
        if (status == INVALID_CONTEXT || status == INVALID_HANDLE) { /* a thread without a context, or with another */
            void *before = NULL;
            ((GetContext)(uintptr_t)self->get_context)(&before);
            if (!((SetContext)(uintptr_t)self->set_context)((void *)(uintptr_t)self->context)) {
                status = (uint64_t)run(&config, (void *)(uintptr_t)kernel->function, parameters, NULL);
                ((SetContext)(uintptr_t)self->set_context)(before);
            }
        }
    }
    return status;
}

static PyObject *results(Call *self, PyObject **values, PyObject **made) {
    if (self->one_result) {
        int i = self->results[0];
        return Py_NewRef(i >= 0 ? values[i] : made[-1 - i]);
    }
    if (!self->result_count) Py_RETURN_NONE;
    PyObject *found = PyTuple_New(self->result_count);
    if (!found) return NULL;
    for (Py_ssize_t n = 0; n < self->result_count; n++) {
        int i = self->results[n];
        PyTuple_SET_ITEM(found, n, Py_NewRef(i >= 0 ? values[i] : made[-1 - i]));
    }
    return found;
}

/* Scalars of the caller's values; 0 if one does not fit. */
static int gather_scalars(const Call *self, PyObject **values, unsigned char *memory) {
    memcpy(memory, self->image, self->bytes);
    for (Py_ssize_t n = 0; n < self->variable_count; n++) {
        const Variable *v = &self->variables[n];
        if (!IS_POINTER(v->code) && write_scalar(memory + v->offset, values[v->index], v->code)) {
            PyErr_Clear(); /* it does not fit; converting plain Python numbers runs no other code */
            return 0;
        }
    }
    return 1;
}

/* Addresses and scalars of the caller's values; 0 if their alignment or overlap differs from the description. */
static int gather(Call *self, PyObject **values, uint64_t *pointers, unsigned char *memory) {
    for (Py_ssize_t i = 0; i < self->operands; i++) {
        if (self->where[i] < 0) continue;
        int found = address(self, values[self->where[i]], &pointers[i]);
        if (found != 1) return found;
        if (!lies_at(self->place[i], pointers[i])) return 0;
    }
    return apart(self, pointers) ? gather_scalars(self, values, memory) : 0;
}

static void write_pointers(const Call *self, const uint64_t *pointers, unsigned char *memory) {
    for (Py_ssize_t n = 0; n < self->variable_count; n++) {
        const Variable *v = &self->variables[n];
        uint64_t place = v->add;
        if (!IS_POINTER(v->code)) continue;
        if (v->code == 'V') memcpy(&place, memory + v->offset, 8);
        place += pointers[v->index];
        memcpy(memory + v->offset, &place, 8);
    }
}

/* The stream to launch on; -1 with an error. */
static int find_stream(Call *self, PyObject *given, uint64_t *stream) {
    *stream = 0;
    if (!self->current) return 0;
    PyObject *number = given == Py_None ? PyObject_CallNoArgs(self->current) : PyObject_CallOneArg(self->handle, given);
    if (!number) return -1;
    *stream = PyLong_AsUnsignedLongLong(number);
    Py_DECREF(number);
    return *stream == (uint64_t)-1 && PyErr_Occurred() ? -1 : 0;
}

/* A parameter buffer with scratch memory, for exclusive use until it is released; NULL with an error. */
static PyObject *acquire(Call *self, uint64_t stream, unsigned char *memory) {
    PyObject *buffer = PyObject_CallFunction(self->acquire, "K", (unsigned long long)stream);
    PyObject *number = buffer ? follow(buffer, self->owner, 0) : NULL;
    unsigned long long base = number ? PyLong_AsUnsignedLongLong(number) : 0;
    Py_XDECREF(number);
    if (PyErr_Occurred()) Py_CLEAR(buffer);
    for (Py_ssize_t n = 0; buffer && n < self->shared_count; n++) {
        uint64_t pointer = base + self->shared[n].start;
        memcpy(memory + self->shared[n].offset, &pointer, 8);
    }
    return buffer;
}

static int release(Call *self, uint64_t stream, PyObject *buffer) {
    PyObject *done = PyObject_CallFunction(self->release, "KO", (unsigned long long)stream, buffer);
    Py_DECREF(buffer);
    Py_XDECREF(done);
    return done ? 0 : -1;
}

/* Launches without the GIL; -1 with an error. */
static int start(Call *self, uint64_t stream, unsigned char *memory, const unsigned (*grids)[3]) {
    uint64_t status;
    int which = 0;
    PyObject *buffer = NULL;
    if (!self->kernel_count) return 0;
    if (self->acquire && !(buffer = acquire(self, stream, memory))) return -1;
    Py_BEGIN_ALLOW_THREADS
    status = launch(self, stream, memory, grids, &which);
    Py_END_ALLOW_THREADS
    if (buffer && release(self, stream, buffer)) return -1;
    if (!status) return 0;
    PyObject *raised = PyObject_CallFunction(self->failed, "iK", which, (unsigned long long)status);
    Py_XDECREF(raised);
    if (!PyErr_Occurred()) PyErr_SetString(PyExc_RuntimeError, "a launch failed");
    return -1;
}

/* Marks arrays as changed in their library; -1 with an error. */
static int mark_written(Call *self, PyObject **values) {
    if (!self->mark_written || !self->written_count || !self->kernel_count) return 0;
    PyObject *written = PyTuple_New(self->written_count);
    if (!written) return -1;
    for (Py_ssize_t i = 0; i < self->written_count; i++)
        PyTuple_SET_ITEM(written, i, Py_NewRef(values[self->written[i]]));
    PyObject *done = PyObject_CallOneArg(self->mark_written, written);
    Py_DECREF(written);
    Py_XDECREF(done);
    return done ? 0 : -1;
}

static int is_written(const Call *call, int value) {
    for (Py_ssize_t i = 0; i < call->written_count; i++)
        if (call->written[i] == value) return 1;
    return 0;
}

/* Reads an array's view; 0 if that is not possible. */
static int view(const Call *call, int value, PyObject *x, View *found) {
    const int64_t *extents, *strides;
    if (call->is_numpy) {
        const NumpyArray *array = (const NumpyArray *)x;
        found->data = array->data;
        found->kind = array->dtype;
        found->place = is_written(call, value) && !(array->flags & NUMPY_WRITEABLE);
        found->dimensions = array->dimensions;
        extents = (const int64_t *)array->extents;
        strides = (const int64_t *)array->strides;
    } else {
        DlTensor tensor;
        memset(&tensor, 0, sizeof tensor);
        if (call->read(x, &tensor)) {
            PyErr_Clear();
            return 0;
        }
        found->data = (char *)tensor.data + tensor.offset;
        found->kind = (void *)(uintptr_t)(tensor.dtype[0] | tensor.dtype[1] << 8 | tensor.dtype[2] << 16);
        found->place = (int64_t)tensor.device[0] << 32 | (uint32_t)tensor.device[1];
        found->dimensions = tensor.dimensions;
        extents = tensor.extents;
        strides = tensor.strides;
    }
    if (found->dimensions > MAX_VIEWED || (found->dimensions && !(extents && strides))) return 0;
    for (int d = 0; d < found->dimensions; d++) {
        found->extents[d] = extents[d];
        found->strides[d] = strides[d];
    }
    return 1;
}

/* --- any layout of a class ---------------------------------------------------------------------------------------- */

/* Copies the numbers of a tuple; 0 if it is none of so many. */
static int read_tuple(PyObject *tuple, int count, Register *to) {
    if (!tuple) return forget(), 0;
    int is_right = PyTuple_Check(tuple) && PyTuple_GET_SIZE(tuple) == count;
    for (int i = 0; is_right && i < count; i++) {
        to[i].i = PyLong_AsLongLong(PyTuple_GET_ITEM(tuple, i));
        if (to[i].i != -1 || !PyErr_Occurred()) continue;
        PyErr_Clear(); /* no 64-bit integer */
        is_right = 0;
    }
    Py_DECREF(tuple);
    return is_right;
}

/* Extents and strides of an array, and its address; 0 if they cannot be read. */
static int read_array(const Call *self, const Source *source, PyObject *x, Register *to) {
    const Rules *rules = self->rules;
    int n = source->dimensions;
    View found;
    if (self->is_numpy || self->read) {
        if (!view(self, source->value, x, &found) || found.dimensions != n) return 0;
        for (int d = 0; d < n; d++) {
            to[d].i = found.extents[d];
            to[n + d].i = found.strides[d];
        }
        to[2 * n].i = (int64_t)(uintptr_t)found.data;
    } else {
        PyObject *strides = rules->is_method ? PyObject_CallMethodNoArgs(x, rules->strides) : PyObject_GetAttr(x, rules->strides);
        uint64_t pointer;
        int is_read = read_tuple(strides, n, to + n) && read_tuple(PyObject_GetAttr(x, rules->shape), n, to);
        if (!is_read || address((Call *)self, x, &pointer) != 1) return 0;
        to[2 * n].i = (int64_t)pointer;
    }
    for (int d = 0; d < n && source->unit > 1; d++) {
        if (to[n + d].i % source->unit) return 0;
        to[n + d].i /= source->unit;
    }
    return 1;
}

static int64_t bit_length(int64_t n) { return n > 0 ? 64 - __builtin_clzll((unsigned long long)n) : 0; }

/* Takes one step; 0 where a guard fails, or a result is no int64. */
static int take(const Step *step, Register *r) {
    Register a = r[step->a], b = r[step->b], *to = &r[step->to];
    switch (step->operation) {
    case '+': return !__builtin_add_overflow(a.i, b.i, &to->i);
    case '-': return !__builtin_sub_overflow(a.i, b.i, &to->i);
    case '*': return !__builtin_mul_overflow(a.i, b.i, &to->i);
    case '/': case '%': { /* rounded down, as in Python */
        if (b.i == 0 || (b.i == -1 && a.i == INT64_MIN)) return 0;
        int64_t rest = a.i % b.i, is_below = rest && (rest < 0) != (b.i < 0);
        to->i = step->operation == '/' ? a.i / b.i - is_below : rest + (is_below ? b.i : 0);
        return 1;
    }
    case 'k': { /* the first bits of a number: see kgen/schedule/leading_bits.py */
        int64_t left = a.i > 16 ? bit_length(a.i) - b.i : 0;
        if (b.i < 1) return 0;
        to->i = left > 0 ? a.i >> left << left : a.i;
        return 1;
    }
    case 'd': /* digits, of so many bits each */
        if (b.i < 1) return 0;
        to->i = (bit_length(a.i) + b.i - 1) / b.i;
        return 1;
    case 'm': to->i = a.i < b.i ? a.i : b.i; return 1;
    case 'M': to->i = a.i > b.i ? a.i : b.i; return 1;
    case 'g': case 's': { /* magic number and shift: see kgen/schedule/divisors.py */
        if (a.i < 1 || (a.i > INT32_MAX && step->operation == 'g')) return 0;
        uint64_t bits = (uint64_t)bit_length(a.i - 1), d = (uint64_t)a.i;
        to->i = step->operation == 's' ? (int64_t)bits : (int64_t)(((((1ull << bits) - d) << 32) / d + 1) & 0xffffffffu);
        return 1;
    }
    case 'G': { /* magic number of 64 bits */
        if (a.i < 1) return 0;
        uint64_t d = (uint64_t)a.i;
        unsigned __int128 rest = (1ull << bit_length(a.i - 1)) - d;
        to->i = (int64_t)(uint64_t)((rest << 64) / d + 1);
        return 1;
    }
    case '=': return a.i == b.i;
    case '!': return a.i != b.i;
    case '<': return a.i < b.i;
    case 'l': return a.i <= b.i;
    case 'f': to->f = (double)a.i; return a.i <= 1ll << 53 && a.i >= -(1ll << 53);
    case 'A': to->f = a.f + b.f; return 1;
    case 'S': to->f = a.f - b.f; return 1;
    case 'P': to->f = a.f * b.f; return 1;
    case 'Q': to->f = a.f / b.f; return b.f != 0;
    case 'n': to->f = a.f < b.f ? a.f : b.f; return 1;
    case 'N': to->f = a.f > b.f ? a.f : b.f; return 1;
    case 'E': return a.f == b.f;
    case 'D': return a.f != b.f;
    case 'L': return a.f < b.f;
    default: return a.f <= b.f;
    }
}

static PyObject *numbers(PyObject *which, const Register *registers) {
    PyObject *found = PyTuple_New(PyTuple_GET_SIZE(which));
    for (Py_ssize_t i = 0; found && i < PyTuple_GET_SIZE(which); i++) {
        PyObject *number = PyLong_FromLongLong(registers[PyLong_AsLong(PyTuple_GET_ITEM(which, i))].i);
        if (!number) Py_CLEAR(found);
        else PyTuple_SET_ITEM(found, i, number);
    }
    return found;
}

/* Fills the registers; 0 if a guard fails, -1 with an error. */
static int compute(const Call *self, PyObject **values, uint64_t *pointers, Register *registers) {
    const Rules *rules = self->rules;
    Register *to = registers;
    for (Py_ssize_t i = 0; i < rules->source_count; i++) {
        const Source *source = &rules->sources[i];
        if (!read_array(self, source, values[source->value], to)) return 0;
        to += 2 * source->dimensions + 1;
        for (Py_ssize_t n = 0; n < self->operands; n++)
            if (self->where[n] == source->value) pointers[n] = (uint64_t)to[-1].i;
    }
    memcpy(to, rules->initial, (size_t)(rules->register_count - rules->input_count) * sizeof(Register));
    for (Py_ssize_t i = 0; i < rules->step_count; i++)
        if (!take(&rules->steps[i], registers)) return 0;
    if (!PyTuple_GET_SIZE(rules->keys)) return 1;
    PyObject *key = numbers(rules->keys, registers);
    int is_known = key ? PySet_Contains(rules->known, key) : -1;
    Py_XDECREF(key);
    return is_known;
}

/* Writes what kernels are passed by value, and their grids; 0 for a number that does not fit. */
static int store(const Rules *rules, Py_ssize_t kernels, const Register *r, unsigned char *memory, unsigned (*grids)[3]) {
    for (Py_ssize_t i = 0; i < rules->stored_count; i++) {
        const Stored *one = &rules->stored[i];
        int64_t number = r[one->from].i;
        if (one->code == 'i' ? number != (int32_t)number : one->code == 'I' && number != (uint32_t)number) return 0;
        memcpy(memory + one->offset, &number, one->code == 'i' || one->code == 'I' ? 4 : 8);
    }
    for (Py_ssize_t i = 0; i < 3 * kernels; i++) {
        int64_t blocks = r[rules->grids[i]].i;
        if (blocks < 1 || blocks > INT32_MAX) return 0;
        grids[i / 3][i % 3] = (unsigned)blocks;
    }
    return 1;
}


/* A new output; NULL with an error. */
static PyObject *allocate(const Rules *rules, PyObject *make, int number, const Register *registers) {
    PyObject *sizes = PyTuple_GET_ITEM(rules->sizes, number);
    PyObject *both[] = {numbers(PyTuple_GET_ITEM(sizes, 0), registers), numbers(PyTuple_GET_ITEM(sizes, 1), registers)};
    PyObject *made = both[0] && both[1] ? PyObject_Vectorcall(make, both, 2, NULL) : NULL;
    Py_XDECREF(both[0]);
    Py_XDECREF(both[1]);
    return made;
}

static PyObject *run(Call *self, PyObject **values, PyObject *given_stream, PyObject **made) {
    uint64_t pointers[MAX_OPERANDS], stream;
    unsigned char memory[MAX_BYTES] __attribute__((aligned(16)));
    /* Outputs are allocated on the current stream; the full path handles others. */
    if (given_stream != Py_None && (!self->current || PyTuple_GET_SIZE(self->fresh))) return miss();
    unsigned grids[MAX_KERNELS][3];
    Register registers[MAX_REGISTERS];
    int found = self->rules ? compute(self, values, pointers, registers) == 1 && gather_scalars(self, values, memory)
                                  && store(self->rules, self->kernel_count, registers, memory, grids)
                            : gather(self, values, pointers, memory);
    if (found != 1 || PyErr_Occurred()) return PyErr_Occurred() ? NULL : miss();
    if (find_stream(self, given_stream, &stream)) return NULL;
    for (Py_ssize_t i = 0; i < self->operands; i++) {
        if (self->where[i] >= 0) continue;
        int number = -1 - self->where[i];
        PyObject *fresh = PyTuple_GET_ITEM(self->fresh, number);
        PyObject *const *parts = &PyTuple_GET_ITEM(fresh, 0);
        made[number] = self->rules ? allocate(self->rules, parts[0], number, registers)
                                   : PyObject_Vectorcall(parts[0], parts + 1, PyTuple_GET_SIZE(fresh) - 1, NULL);
        if (!made[number]) return NULL;
        found = address(self, made[number], &pointers[i]);
        if (found != 1) return found ? NULL : miss();
        if (!lies_at(self->place[i], pointers[i])) return miss();
    }
    write_pointers(self, pointers, memory);
    if (mark_written(self, values) || start(self, stream, memory, self->rules ? grids : NULL)) return NULL;
    if (PyObject_SetAttr(self->engine, self->ran_on, self->here)) return NULL;
    return results(self, values, made);
}

static PyObject *call(PyObject *object, PyObject *const *args, size_t flags, PyObject *names) {
    Call *self = (Call *)object;
    if (PyVectorcall_NARGS(flags) != 4 || names || !PyTuple_CheckExact(args[0]) || !PyDict_CheckExact(args[3])) {
        PyErr_SetString(PyExc_TypeError, "a Call takes (args, out, stream, named)");
        return NULL;
    }
    PyObject *values[MAX_VALUES], *made[MAX_VALUES] = {NULL};
    int found = collect(self, args[0], args[1], args[3], values);
    if (found == 1) found = recognised(self, values);
    if (found != 1) return found ? NULL : miss();
    PyObject *result = run(self, values, args[2], made);
    self->hits += result && result != Py_NotImplemented;
    for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(self->fresh); i++) Py_XDECREF(made[i]);
    return result;
}

/* --- the same call again: with the parameters of before, and no checks of arrays that cannot move ----------------- */

typedef struct {
    PyObject_HEAD
    vectorcallfunc vectorcall;
    Call *call;
    Py_ssize_t count;
    PyObject *values[MAX_VALUES];
    View *views; /* of each value that is an operand; NULL: use the full checks */
    uint64_t pointers[MAX_OPERANDS];
    unsigned char memory[MAX_BYTES] __attribute__((aligned(16)));
} Again;

static int same_view(const View *a, const View *b) {
    if (a->data != b->data || a->kind != b->kind || a->place != b->place || a->dimensions != b->dimensions) return 0;
    size_t size = a->dimensions * sizeof(int64_t);
    return !memcmp(a->extents, b->extents, size) && !memcmp(a->strides, b->strides, size);
}

/* Whether every view is the same as before, and so is everything outside of the arrays that a call depends on. */
static int unchanged(Again *self) {
    Call *call = self->call;
    View now;
    for (Py_ssize_t i = 0; i < call->operands; i++) {
        int value = call->where[i];
        PyObject *x = self->values[value];
        if ((PyObject *)Py_TYPE(x) != PyTuple_GET_ITEM(call->types, value)) return 0;
        if (!view(call, value, x, &now) || !same_view(&now, &self->views[i])) return 0;
    }
    for (Py_ssize_t i = 0; call->records && i < call->operands; i++) {
        PyObject *records = call->records->get(self->values[call->where[i]], call->records->closure);
        if (!records) return forget();
        Py_DECREF(records);
        if (records != Py_False) return 0;
    }
    for (Py_ssize_t i = 0; i < call->condition_count; i++) {
        const Condition *c = &call->conditions[i];
        int held = c->object ? holds(c, c->object) : 1;
        if (held != 1) return held;
    }
    return 1;
}

/* 1 if the arrays have the same layouts and addresses as before, 0 if not, -1 with an error. */
static int stayed(Again *self) {
    Call *call = self->call;
    if (!call->moves) return 1;
    int found = self->views ? unchanged(self) : 0;
    if (found) return found;
    found = recognised(call, self->values);
    for (Py_ssize_t i = 0; found == 1 && i < call->operands; i++) {
        uint64_t pointer;
        found = address(call, self->values[call->where[i]], &pointer);
        if (found == 1) found = pointer == self->pointers[i];
    }
    return found;
}

/* Stores the views of the arrays; without views, the full checks are used. */
static void take_views(Again *self) {
    Call *call = self->call;
    if (!call->moves || !(call->is_numpy || call->read)) return;
    for (Py_ssize_t i = 0; call->records && i < call->operands; i++) /* getters do not check the type */
        if (!PyObject_TypeCheck(self->values[call->where[i]], PyDescr_TYPE(call->records_of))) return;
    View *views = PyMem_Calloc(call->operands ? call->operands : 1, sizeof(View));
    for (Py_ssize_t i = 0; views && i < call->operands; i++) {
        if (view(call, call->where[i], self->values[call->where[i]], &views[i]) &&
            (uint64_t)(uintptr_t)views[i].data == self->pointers[i]) continue;
        PyMem_Free(views);
        return;
    }
    for (Py_ssize_t i = 0; views && call->is_numpy && i < call->operands; i++) Py_INCREF((PyObject *)views[i].kind);
    self->views = views;
}

static PyObject *again(PyObject *object, PyObject *const *args, size_t flags, PyObject *names) {
    Again *self = (Again *)object;
    uint64_t stream;
    unsigned char copy[MAX_BYTES] __attribute__((aligned(16))), *memory = self->memory;
    if (PyVectorcall_NARGS(flags) != 1 || names) {
        PyErr_SetString(PyExc_TypeError, "an Again takes (stream)");
        return NULL;
    }
    int found = stayed(self);
    if (found != 1) return found ? NULL : miss();
    if (self->call->acquire) memory = memcpy(copy, memory, self->call->bytes); /* another thread may use other scratch */
    if (find_stream(self->call, args[0], &stream) || mark_written(self->call, self->values)) return NULL;
    if (start(self->call, stream, memory, NULL)) return NULL;
    Py_RETURN_NONE;
}

static void again_dealloc(PyObject *object) {
    Again *self = (Again *)object;
    for (Py_ssize_t i = 0; self->views && self->call->is_numpy && i < self->call->operands; i++)
        Py_DECREF((PyObject *)self->views[i].kind);
    PyMem_Free(self->views);
    Py_XDECREF(self->call);
    for (Py_ssize_t i = 0; i < self->count; i++) Py_DECREF(self->values[i]);
    PyObject_Free(object);
}

static PyTypeObject AgainType = {
    PyVarObject_HEAD_INIT(NULL, 0)
    .tp_name = "kgen._call.Again",
    .tp_basicsize = sizeof(Again),
    .tp_flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_VECTORCALL,
    .tp_doc = "again(stream) launches what call.again(args, out, named) was given, or says NotImplemented if that moved.",
    .tp_dealloc = again_dealloc,
    .tp_call = PyVectorcall_Call,
    .tp_vectorcall_offset = offsetof(Again, vectorcall),
};

static PyObject *make_again(PyObject *object, PyObject *arguments) {
    Call *self = (Call *)object;
    PyObject *args, *out, *named, *values[MAX_VALUES];
    if (!PyArg_ParseTuple(arguments, "O!OO!", &PyTuple_Type, &args, &out, &PyDict_Type, &named)) return NULL;
    if (PyTuple_GET_SIZE(self->fresh) || self->rules) return miss();
    int found = collect(self, args, out, named, values);
    if (found == 1) found = recognised(self, values);
    if (found != 1) return found ? NULL : miss();
    Again *made = PyObject_New(Again, &AgainType);
    if (!made) return NULL;
    made->vectorcall = again;
    made->call = (Call *)Py_NewRef(object);
    made->views = NULL;
    made->count = PyTuple_GET_SIZE(self->types);
    for (Py_ssize_t i = 0; i < made->count; i++) made->values[i] = Py_NewRef(values[i]);
    found = gather(self, values, made->pointers, made->memory);
    if (found != 1) {
        Py_DECREF(made);
        return found ? NULL : miss();
    }
    write_pointers(self, made->pointers, made->memory);
    take_views(made);
    return (PyObject *)made;
}

static PyMethodDef methods[] = {
    {"again", make_again, METH_VARARGS, "again(args, out, named): the call with these arguments, or NotImplemented."},
    {NULL, NULL, 0, NULL},
};

/* --- making one -------------------------------------------------------------------------------------------------- */

static int wrong(const char *what) { return PyErr_SetString(PyExc_ValueError, what), -1; }

/* The call exceeds the limits above; native.py handles this error. */
static int too_large(void) { return PyErr_SetString(PyExc_OverflowError, "too large a call"), -1; }

static int within(long long n, long long low, long long end) {
    return n >= low && n < end ? 0 : wrong("an index is out of range");
}

/* Every number is `low` or more and less than `end`. */
static int integers(PyObject *sequence, int *to, Py_ssize_t most, Py_ssize_t *count, long low, Py_ssize_t end) {
    *count = 0;
    if (PyTuple_GET_SIZE(sequence) > most) return too_large();
    for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(sequence); i++) {
        long n = PyLong_AsLong(PyTuple_GET_ITEM(sequence, i));
        if ((n == -1 && PyErr_Occurred()) || within(n, low, end)) return -1;
        to[(*count)++] = (int)n;
    }
    return 0;
}

/* An entry of a table, as a tuple for PyArg_ParseTuple; NULL with an error. */
static PyObject *entry(PyObject *sequence, Py_ssize_t i) {
    PyObject *found = PyTuple_GET_ITEM(sequence, i);
    if (PyTuple_Check(found)) return found;
    PyErr_SetString(PyExc_TypeError, "a table's entries are tuples");
    return NULL;
}

/* The bytes of a variable in memory; 0 for a code that is none. */
static int size_of(int code) {
    switch (code) {
    case '?': case 'b': case 'B': return 1;
    case 'h': case 'H': case 'e': return 2;
    case 'i': case 'I': case 'f': return 4;
    case 'q': case 'Q': case 'd': case 'F': case 'P': case 'V': return 8;
    case 'D': return 16;
    default: return 0;
    }
}

static void *table(PyObject *sequence, size_t size, Py_ssize_t *count) {
    *count = PyTuple_GET_SIZE(sequence);
    return PyMem_Calloc(*count ? *count : 1, size);
}

static int conditions(Call *self, PyObject *sequence) {
    self->conditions = table(sequence, sizeof(Condition), &self->condition_count);
    if (!self->conditions) return -1;
    for (Py_ssize_t i = 0; i < self->condition_count; i++) {
        Condition *c = &self->conditions[i];
        PyObject *one = entry(sequence, i), *of, *path, *expected;
        if (!one || !PyArg_ParseTuple(one, "OO!pO", &of, &PyTuple_Type, &path, &c->call, &expected)) return -1;
        if (PyLong_Check(of)) {
            long n = PyLong_AsLong(of);
            if ((n == -1 && PyErr_Occurred()) || within(n, 0, PyTuple_GET_SIZE(self->types))) return -1;
            c->value = (int)n;
        } else {
            c->object = Py_NewRef(of);
        }
        c->path = Py_NewRef(path);
        c->expected = Py_NewRef(expected);
    }
    return 0;
}

static int kernels(Call *self, PyObject *sequence) {
    Py_ssize_t used = 0;
    self->kernels = table(sequence, sizeof(Kernel), &self->kernel_count);
    if (!self->kernels) return -1;
    for (Py_ssize_t i = 0; i < self->kernel_count; i++) {
        Kernel *k = &self->kernels[i];
        unsigned long long function;
        unsigned c[3];
        int together, pdl;
        Py_ssize_t count;
        PyObject *offsets, *one = entry(sequence, i);
        if (!one || !PyArg_ParseTuple(one, "K(III)(III)II(III)ppO!", &function, &k->grid[0], &k->grid[1],
                              &k->grid[2], &k->block[0], &k->block[1], &k->block[2], &k->shared, &k->threads, &c[0], &c[1],
                              &c[2], &together, &pdl, &PyTuple_Type, &offsets))
            return -1;
        k->function = function;
        k->first = (int)used;
        if (integers(offsets, self->offsets + used, MAX_PARAMETERS - used, &count, 0, self->bytes)) return -1;
        k->parameters = (int)count;
        used += count;
        if (c[0] * c[1] * c[2] > 1) {
            Attribute *a = &k->attributes[k->count++];
            a->id = 4; /* CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION */
            memcpy(a->value.dim, c, sizeof c);
        }
        if (together) {
            Attribute *a = &k->attributes[k->count++];
            a->id = 2; /* CU_LAUNCH_ATTRIBUTE_COOPERATIVE */
            a->value.flag = 1;
        }
        if (pdl) {
            Attribute *a = &k->attributes[k->count++];
            a->id = 6; /* CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_STREAM_SERIALIZATION */
            a->value.flag = 1;
        }
    }
    return 0;
}

static int scratch(Call *self, PyObject *given) {
    PyObject *patches;
    if (given == Py_None) return 0;
    if (!PyArg_ParseTuple(given, "OOO!O!", &self->acquire, &self->release, &PyTuple_Type, &self->owner, &PyTuple_Type, &patches)) {
        self->acquire = self->release = self->owner = NULL;
        return -1;
    }
    Py_INCREF(self->acquire);
    Py_INCREF(self->release);
    Py_INCREF(self->owner);
    self->shared = table(patches, sizeof(Shared), &self->shared_count);
    if (!self->shared) return -1;
    for (Py_ssize_t n = 0; n < self->shared_count; n++) {
        PyObject *one = entry(patches, n);
        if (!one || !PyArg_ParseTuple(one, "iK", &self->shared[n].offset, &self->shared[n].start)) return -1;
        if (within(self->shared[n].offset, 0, self->bytes - 7)) return -1;
    }
    return 0;
}

static int fill(Call *self, PyObject *a[]) {
    Py_ssize_t count, n;
    PyObject *same = a[0], *apart = a[1], *variables = a[2];
    int flat[2 * MAX_VALUES];
    if (integers(same, flat, 2 * MAX_VALUES, &count, 0, PyTuple_GET_SIZE(self->types))) return -1;
    if (count % 2) return wrong("same holds pairs");
    self->same_count = count / 2;
    memcpy(self->same, flat, count * sizeof(int));
    self->apart = table(apart, sizeof(Apart), &self->apart_count);
    self->variables = table(variables, sizeof(Variable), &self->variable_count);
    if (!self->apart || !self->variables) return -1;
    for (n = 0; n < self->apart_count; n++) {
        Apart *one = &self->apart[n];
        long long first, second;
        PyObject *item = entry(apart, n);
        if (!item || !PyArg_ParseTuple(item, "iipLL", &one->i, &one->j, &one->exact, &first, &second)) return -1;
        if (within(one->i, 0, self->operands) || within(one->j, 0, self->operands)) return -1;
        if (self->where[one->i] < 0 || self->where[one->j] < 0) return wrong("an output that is allocated lies apart");
        one->first = first;
        one->second = second;
    }
    for (n = 0; n < self->variable_count; n++) {
        Variable *v = &self->variables[n];
        int code;
        long long add;
        PyObject *item = entry(variables, n);
        if (!item || !PyArg_ParseTuple(item, "iCiL", &v->offset, &code, &v->index, &add)) return -1;
        v->add = (uint64_t)add;
        if (!size_of(code)) return wrong("no such code of a variable");
        if (within(v->offset, 0, self->bytes - size_of(code) + 1)) return -1;
        if (within(v->index, 0, IS_POINTER(code) ? self->operands : PyTuple_GET_SIZE(self->types))) return -1;
        v->code = (char)code;
    }
    return 0;
}

/* The number of values, and the allocators of outputs. */
static int counts(Call *self) {
    Py_ssize_t values = PyTuple_GET_SIZE(self->types), made = PyTuple_GET_SIZE(self->fresh);
    if (values > MAX_VALUES || made > MAX_VALUES) return too_large();
    if (self->args < 0 || self->args > values || self->outs < 0 || self->outs > values ||
        self->args + PyTuple_GET_SIZE(self->names) + self->outs != values || (!self->out_is_tuple && self->outs > 1))
        return wrong("types has one entry for each value");
    for (Py_ssize_t i = 0; i < made; i++) {
        PyObject *one = entry(self->fresh, i);
        if (!one) return -1;
        if (!PyTuple_GET_SIZE(one)) return wrong("an output that nothing allocates");
    }
    return 0;
}

static int operands(Call *self, PyObject *where, PyObject *place) {
    Py_ssize_t places, made = PyTuple_GET_SIZE(self->fresh), seen = 0;
    char is_made[MAX_VALUES] = {0};
    if (integers(where, self->where, MAX_OPERANDS, &self->operands, -made, PyTuple_GET_SIZE(self->types)) ||
        integers(place, self->place, MAX_OPERANDS, &places, NO_MEMORY, 16))
        return -1;
    if (places != self->operands) return wrong("place has one entry for each operand");
    for (Py_ssize_t i = 0; i < self->operands; i++)
        if (self->where[i] < 0 && !is_made[-1 - self->where[i]]++) seen++;
        else if (self->where[i] < 0) return wrong("an output is allocated twice");
    return seen == made ? 0 : wrong("an output that is no operand");
}

/* None; True: NumPy's struct; or the capsule of a library's DLPack functions and an attribute's descriptor. */
static int set_views(Call *self, PyObject *views) {
    PyObject *capsule, *descriptor;
    self->is_numpy = views == Py_True;
    if (views == Py_None || views == Py_True) return 0;
    if (!PyTuple_Check(views)) return wrong("views is None, True or a pair");
    if (!PyArg_ParseTuple(views, "OO!", &capsule, &PyGetSetDescr_Type, &descriptor)) return -1;
    const DlInterface *found = PyCapsule_GetPointer(capsule, "dlpack_exchange_api");
    if (!found) return -1;
    self->records_of = Py_NewRef(descriptor);
    self->records = ((PyGetSetDescrObject *)descriptor)->d_getset;
    if (found->major == 1) self->read = found->read;
    return 0;
}

static int register_of(const Rules *rules, long long n) { return within(n, 0, rules->register_count); }

static int set_steps(Rules *rules, PyObject *sequence) {
    for (Py_ssize_t n = 0; n < rules->step_count; n++) {
        Step *s = &rules->steps[n];
        int code;
        PyObject *one = entry(sequence, n);
        if (!one || !PyArg_ParseTuple(one, "Ciii", &code, &s->to, &s->a, &s->b)) return -1;
        s->operation = (char)code;
        if (!strchr("+-*/%kdmMgGs=!<lfASPQnNEDLK", code)) return wrong("no such step");
        if (register_of(rules, s->to) || register_of(rules, s->a) || register_of(rules, s->b)) return -1;
    }
    return 0;
}

static int set_stored(const Call *self, Rules *rules, PyObject *sequence) {
    for (Py_ssize_t n = 0; n < rules->stored_count; n++) {
        Stored *s = &rules->stored[n];
        int code;
        PyObject *one = entry(sequence, n);
        if (!one || !PyArg_ParseTuple(one, "iCi", &s->offset, &code, &s->from)) return -1;
        s->code = (char)code;
        if (!code || !strchr("iIqQ", code)) return wrong("only integers are stored");
        if (within(s->offset, 0, self->bytes - size_of(code) + 1) || register_of(rules, s->from)) return -1;
    }
    return 0;
}

static int set_sources(const Call *self, Rules *rules, PyObject *sequence) {
    for (Py_ssize_t n = 0; n < rules->source_count; n++) {
        Source *s = &rules->sources[n];
        PyObject *one = entry(sequence, n);
        if (!one || !PyArg_ParseTuple(one, "iii", &s->value, &s->dimensions, &s->unit)) return -1;
        if (within(s->value, 0, PyTuple_GET_SIZE(self->types)) || within(s->dimensions, 0, MAX_REGISTERS)) return -1;
        rules->input_count += 2 * s->dimensions + 1;
    }
    return rules->input_count <= rules->register_count ? 0 : wrong("more inputs than registers");
}

static int set_initial(Rules *rules, PyObject *constants) {
    for (Py_ssize_t n = 0; n < PyTuple_GET_SIZE(constants); n++) {
        PyObject *one = PyTuple_GET_ITEM(constants, n);
        if (rules->input_count + n >= rules->register_count) return wrong("more constants than registers");
        if (PyFloat_Check(one)) rules->initial[n].f = PyFloat_AS_DOUBLE(one);
        else rules->initial[n].i = PyLong_AsLongLong(one);
        if (PyErr_Occurred()) return -1;
    }
    return 0;
}

/* For each output that is allocated, two tuples of registers. */
static int set_sizes(const Call *self, Rules *rules, PyObject *sizes) {
    int some[MAX_REGISTERS];
    Py_ssize_t count;
    if (PyTuple_GET_SIZE(sizes) != PyTuple_GET_SIZE(self->fresh)) return wrong("sizes has one entry for each output");
    for (Py_ssize_t n = 0; n < PyTuple_GET_SIZE(sizes); n++) {
        PyObject *one = entry(sizes, n), *extents, *strides;
        if (!one || !PyArg_ParseTuple(one, "O!O!", &PyTuple_Type, &extents, &PyTuple_Type, &strides)) return -1;
        if (integers(extents, some, MAX_REGISTERS, &count, 0, rules->register_count)) return -1;
        if (integers(strides, some, MAX_REGISTERS, &count, 0, rules->register_count)) return -1;
    }
    rules->sizes = Py_NewRef(sizes);
    return 0;
}

static int set_rules(Call *self, PyObject *given) {
    PyObject *sources, *constants, *steps, *stored, *grids, *sizes, *keys, *known, *shape, *strides;
    int some[MAX_REGISTERS];
    Py_ssize_t count;
    int is_method;
    if (given == Py_None) return 0;
    Rules *rules = self->rules = PyMem_Calloc(1, sizeof(Rules));
    if (!rules) return -1;
    if (!PyTuple_Check(given)) return wrong("rules is None or a tuple");
    if (!PyArg_ParseTuple(given, "nO!O!O!O!O!O!O!O!UUp", &rules->register_count, &PyTuple_Type, &sources, &PyTuple_Type,
                          &constants, &PyTuple_Type, &steps, &PyTuple_Type, &stored, &PyTuple_Type, &grids, &PyTuple_Type,
                          &sizes, &PyTuple_Type, &keys, &PySet_Type, &known, &shape, &strides, &is_method))
        return -1;
    if (rules->register_count < 0 || rules->register_count > MAX_REGISTERS || self->kernel_count > MAX_KERNELS)
        return too_large();
    rules->is_method = is_method;
    rules->keys = Py_NewRef(keys);
    rules->known = Py_NewRef(known);
    rules->shape = Py_NewRef(shape);
    rules->strides = Py_NewRef(strides);
    rules->sources = table(sources, sizeof(Source), &rules->source_count);
    rules->steps = table(steps, sizeof(Step), &rules->step_count);
    rules->stored = table(stored, sizeof(Stored), &rules->stored_count);
    rules->initial = PyMem_Calloc((size_t)rules->register_count + 1, sizeof(Register));
    rules->grids = PyMem_Calloc(3 * MAX_KERNELS, sizeof(int));
    if (!rules->sources || !rules->steps || !rules->stored || !rules->initial || !rules->grids) return -1;
    if (integers(grids, rules->grids, 3 * MAX_KERNELS, &count, 0, rules->register_count)) return -1;
    if (count != 3 * self->kernel_count) return wrong("grids has three registers for each kernel");
    if (integers(keys, some, MAX_REGISTERS, &count, 0, rules->register_count)) return -1;
    return set_sources(self, rules, sources) || set_initial(rules, constants) || set_steps(rules, steps) ||
           set_stored(self, rules, stored) || set_sizes(self, rules, sizes) ? -1 : 0;
}

static void free_rules(Rules *rules) {
    if (!rules) return;
    Py_XDECREF(rules->sizes);
    Py_XDECREF(rules->keys);
    Py_XDECREF(rules->known);
    Py_XDECREF(rules->shape);
    Py_XDECREF(rules->strides);
    PyMem_Free(rules->sources);
    PyMem_Free(rules->steps);
    PyMem_Free(rules->stored);
    PyMem_Free(rules->initial);
    PyMem_Free(rules->grids);
    PyMem_Free(rules);
}

static PyObject *new(PyTypeObject *type, PyObject *positional, PyObject *keywords) {
    static char *known[] = {
        "args", "names", "outs", "out_is_tuple", "types", "alike", "checked", "same", "conditions", "unless", "pointer",
        "pointer_is_method", "where", "place", "apart", "fresh", "mark_written", "written", "results", "one_result",
        "moves", "views", "current", "handle", "failed",
        "engine", "here", "image", "variables", "kernels", "scratch", "launch", "get_context", "set_context", "context", "rules", NULL,
    };
    PyObject *alike, *checked, *same, *conds, *unless, *where, *place, *apart_, *results_, *current, *variables, *kernels_, *scratch_;
    PyObject *mark, *written, *views, *rules = Py_None;
    Py_buffer image = {0};
    unsigned long long launch_, get, set, context;
    Call *self = (Call *)type->tp_alloc(type, 0);
    if (!self) return NULL;
    self->vectorcall = call;
    if (!PyArg_ParseTupleAndKeywords(
            positional, keywords, "nO!npO!OO!O!O!OOpO!O!O!O!OO!O!ppOOOOOOy*O!O!OKKKK|O:Call", known, &self->args, &PyTuple_Type,
            &self->names, &self->outs, &self->out_is_tuple, &PyTuple_Type, &self->types, &alike, &PyTuple_Type, &checked,
            &PyTuple_Type, &same, &PyTuple_Type, &conds, &unless, &self->pointer, &self->pointer_is_method, &PyTuple_Type,
            &where, &PyTuple_Type, &place, &PyTuple_Type, &apart_, &PyTuple_Type, &self->fresh, &mark, &PyTuple_Type, &written,
            &PyTuple_Type, &results_, &self->one_result, &self->moves, &views, &current, &self->handle, &self->failed, &self->engine, &self->here, &image, &PyTuple_Type,
            &variables, &PyTuple_Type, &kernels_, &scratch_, &launch_, &get, &set, &context, &rules)) {
        self->names = self->types = self->fresh = self->pointer = self->handle = self->failed = NULL;
        self->engine = self->here = NULL;
        Py_DECREF(self);
        return NULL;
    }
    Py_INCREF(self->names);
    Py_INCREF(self->types);
    Py_INCREF(self->fresh);
    Py_INCREF(self->pointer);
    Py_INCREF(self->handle);
    Py_INCREF(self->failed);
    Py_INCREF(self->engine);
    Py_INCREF(self->here);
    self->alike = alike == Py_None ? NULL : Py_NewRef(alike);
    self->unless = unless == Py_None ? NULL : Py_NewRef(unless);
    self->current = current == Py_None ? NULL : Py_NewRef(current);
    self->mark_written = mark == Py_None ? NULL : Py_NewRef(mark);
    int bad = set_views(self, views);
    self->ran_on = PyUnicode_InternFromString("ran_on");
    self->launch = launch_;
    self->get_context = get;
    self->set_context = set;
    self->context = context;
    PyObject *parts[] = {same, apart_, variables};
    if (!bad && image.len > MAX_BYTES) bad = too_large();
    if (!bad) memcpy(self->image, image.buf, self->bytes = image.len);
    PyBuffer_Release(&image);
    Py_ssize_t values = PyTuple_GET_SIZE(self->types), made = PyTuple_GET_SIZE(self->fresh);
    if (bad || counts(self) || integers(checked, self->checked, MAX_VALUES, &self->checked_count, 0, values) ||
        integers(written, self->written, MAX_OPERANDS, &self->written_count, 0, values) || conditions(self, conds) ||
        operands(self, where, place) || integers(results_, self->results, MAX_VALUES, &self->result_count, -made, values) ||
        (self->one_result && !self->result_count && wrong("there is no result")) || fill(self, parts) ||
        kernels(self, kernels_) || scratch(self, scratch_) || set_rules(self, rules)) {
        if (!PyErr_Occurred()) PyErr_NoMemory();
        Py_DECREF(self);
        return NULL;
    }
    return (PyObject *)self;
}

static int traverse(PyObject *object, visitproc visit, void *arg) {
    Call *self = (Call *)object;
    PyObject *all[] = {self->types, self->names, self->alike, self->unless, self->fresh, self->pointer, self->current,
                       self->handle, self->failed, self->mark_written, self->engine, self->here, self->acquire, self->release};
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) Py_VISIT(all[i]);
    for (Py_ssize_t i = 0; i < self->condition_count; i++) {
        Py_VISIT(self->conditions[i].object);
        Py_VISIT(self->conditions[i].expected);
    }
    return 0;
}

static int clear(PyObject *object) {
    Call *self = (Call *)object;
    Py_CLEAR(self->engine);
    Py_CLEAR(self->failed);
    Py_CLEAR(self->handle);
    Py_CLEAR(self->current);
    Py_CLEAR(self->acquire);
    Py_CLEAR(self->release);
    return 0;
}

static void dealloc(PyObject *object) {
    Call *self = (Call *)object;
    PyObject_GC_UnTrack(object);
    clear(object);
    Py_CLEAR(self->types);
    Py_CLEAR(self->names);
    Py_CLEAR(self->alike);
    Py_CLEAR(self->unless);
    Py_CLEAR(self->fresh);
    Py_CLEAR(self->pointer);
    Py_CLEAR(self->mark_written);
    Py_CLEAR(self->here);
    Py_CLEAR(self->owner);
    Py_CLEAR(self->records_of);
    Py_CLEAR(self->ran_on);
    for (Py_ssize_t i = 0; i < self->condition_count; i++) {
        Py_CLEAR(self->conditions[i].object);
        Py_CLEAR(self->conditions[i].path);
        Py_CLEAR(self->conditions[i].expected);
    }
    PyMem_Free(self->conditions);
    PyMem_Free(self->apart);
    PyMem_Free(self->variables);
    PyMem_Free(self->kernels);
    PyMem_Free(self->shared);
    free_rules(self->rules);
    Py_TYPE(object)->tp_free(object);
}

static PyMemberDef members[] = {
    {"hits", T_PYSSIZET, offsetof(Call, hits), READONLY, "How often a call was this one."},
    {NULL, 0, 0, 0, NULL},
};

static PyTypeObject CallType = {
    PyVarObject_HEAD_INIT(NULL, 0)
    .tp_name = "kgen._call.Call",
    .tp_basicsize = sizeof(Call),
    .tp_flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_GC | Py_TPFLAGS_HAVE_VECTORCALL,
    .tp_doc = "A recognised call; see kgen/call/fastpath/native.py.",
    .tp_methods = methods,
    .tp_members = members,
    .tp_new = new,
    .tp_dealloc = dealloc,
    .tp_traverse = traverse,
    .tp_clear = clear,
    .tp_call = PyVectorcall_Call,
    .tp_vectorcall_offset = offsetof(Call, vectorcall),
};

/* --- calls by XLA: repeated ones launch without Python (kgen/runtime/xla_ffi.py) ----------------------------------- */

/* The structs of XLA's C API (xla/ffi/api/c_api.h), as far as they are read.  Each begins with its size. */
#define XLA_HEAD size_t size; void *extension
typedef struct { XLA_HEAD; int major, minor; } XlaVersion;
typedef struct { size_t size; XlaVersion version; uint32_t traits; } XlaMetadata;
typedef struct { size_t size; int type; void *next; XlaMetadata *metadata; } XlaQuestion;
typedef struct { XLA_HEAD; void *context, *stream; } XlaStream;
typedef struct { XLA_HEAD; const char *message; int code; } XlaError;
typedef struct {
    XLA_HEAD;
    XlaVersion version;
    void *internal, *(*create_error)(XlaError *), *error_message, *destroy_error, *register_handler;
    void *(*find_stream)(XlaStream *);
} XlaApi;
typedef struct { XLA_HEAD; int dtype; void *data; int64_t rank, *extents; } XlaBuffer;
typedef struct { XLA_HEAD; int64_t count; int *types; XlaBuffer **items; } XlaBuffers;
typedef struct { const char *start; size_t length; } XlaName;
typedef struct { int dtype; void *value; } XlaScalar;
typedef struct { XLA_HEAD; int64_t count; int *types; XlaName **names; XlaScalar **items; } XlaAttributes;
typedef struct {
    XLA_HEAD;
    XlaApi *api;
    void *context;
    int stage;
    XlaBuffers arguments, results;
    XlaAttributes attributes;
} XlaFrame;
enum { XLA_METADATA = 1, XLA_SCALAR = 3, XLA_BOOL = 1, XLA_INTERNAL = 13 };

/* What calls agree in that one Again serves: the handler, dtypes and shapes of buffers, and attributes. */
typedef struct { size_t bytes; unsigned char memory[1024]; } Key;
typedef struct Replay {
    struct Replay *next;
    Again *again;
    int buffers[MAX_VALUES]; /* the buffer of each value: arguments, then results; -1 for scalars */
    Key key;
} Replay;

/* Replays are read without the GIL, and never removed. */
#define REPLAY_LISTS 256
#define MAX_REPLAYS 4096
static Replay *replays[REPLAY_LISTS];
static int replay_count;
static PyObject *xla_called; /* takes the address of a frame, whether it is on a device, and whether it has a replay */

static int add(Key *key, const void *from, size_t bytes) {
    if (bytes > sizeof key->memory - key->bytes) return 0;
    memcpy(key->memory + key->bytes, from, bytes);
    key->bytes += bytes;
    return 1;
}

static int add_buffers(Key *key, const XlaBuffers *buffers) {
    if (!add(key, &buffers->count, sizeof buffers->count)) return 0;
    for (int64_t i = 0; i < buffers->count; i++) {
        const XlaBuffer *one = buffers->items[i];
        if (!add(key, &one->dtype, sizeof one->dtype) || !add(key, &one->rank, sizeof one->rank) ||
            !add(key, one->extents, (size_t)one->rank * sizeof *one->extents)) return 0;
    }
    return 1;
}

/* 0 for a call whose key is too long. */
static int key_of(const XlaFrame *frame, int on_device, Key *key) {
    key->bytes = 0;
    if (!add(key, &on_device, sizeof on_device) || !add_buffers(key, &frame->arguments) ||
        !add_buffers(key, &frame->results)) return 0;
    for (int64_t i = 0; i < frame->attributes.count; i++) {
        const XlaName *name = frame->attributes.names[i];
        const XlaScalar *scalar = frame->attributes.items[i];
        if (frame->attributes.types[i] != XLA_SCALAR || !add(key, &name->length, sizeof name->length) ||
            !add(key, name->start, name->length) || !add(key, &scalar->dtype, sizeof scalar->dtype) ||
            !add(key, scalar->value, scalar->dtype == XLA_BOOL ? 1 : 8)) return 0; /* bools, or int64 and float64 */
    }
    return 1;
}

static Replay **list_of(const Key *key) {
    uint64_t hash = 0xcbf29ce484222325; /* FNV-1a */
    for (size_t i = 0; i < key->bytes; i++) hash = (hash ^ key->memory[i]) * 0x100000001b3;
    return &replays[(hash ^ hash >> 32) % REPLAY_LISTS];
}

static Replay *find_replay(const Key *key) {
    Replay *one = __atomic_load_n(list_of(key), __ATOMIC_ACQUIRE);
    while (one && (one->key.bytes != key->bytes || memcmp(one->key.memory, key->memory, key->bytes))) one = one->next;
    return one;
}

/* 1 if kernels were launched on the buffers of a call; 0 if Python has to, or has to say what failed. */
static int launched(const Replay *replay, const XlaFrame *frame) {
    Call *call = replay->again->call;
    uint64_t pointers[MAX_OPERANDS];
    unsigned char memory[MAX_BYTES] __attribute__((aligned(16)));
    XlaStream stream = {sizeof stream, NULL, frame->context, NULL};
    for (Py_ssize_t i = 0; i < call->operands; i++) {
        int64_t n = replay->buffers[call->where[i]], given = frame->arguments.count;
        pointers[i] = (uint64_t)(uintptr_t)(n < given ? frame->arguments.items[n] : frame->results.items[n - given])->data;
        if (!lies_at(call->place[i], pointers[i])) return 0;
    }
    if (!apart(call, pointers)) return 0;
    if (call->current) {
        void *context = NULL;
        if (((GetContext)(uintptr_t)call->get_context)(&context) || (uint64_t)(uintptr_t)context != call->context) return 0;
        if (frame->api->find_stream(&stream)) return 0;
    }
    memcpy(memory, replay->again->memory, call->bytes);
    write_pointers(call, pointers, memory);
    if (!call->acquire) {
        int which;
        return !launch(call, (uint64_t)(uintptr_t)stream.stream, memory, NULL, &which);
    }
    PyGILState_STATE state = PyGILState_Ensure();
    int failed = start(call, (uint64_t)(uintptr_t)stream.stream, memory, NULL);
    if (failed) PyErr_Clear();
    PyGILState_Release(state);
    return !failed;
}

static void *handle(XlaFrame *frame, int on_device) {
    const XlaQuestion *question = frame->extension;
    if (question && question->type == XLA_METADATA) {
        question->metadata->version.major = frame->api->version.major;
        question->metadata->version.minor = frame->api->version.minor;
        question->metadata->traits = 0;
        return NULL;
    }
    Key key;
    Replay *replay = key_of(frame, on_device, &key) ? find_replay(&key) : NULL;
    if (replay && launched(replay, frame)) return NULL;
    PyGILState_STATE state = PyGILState_Ensure();
    PyObject *found = PyObject_CallFunction(xla_called, "Kii", (unsigned long long)(uintptr_t)frame, on_device, !!replay);
    void *error = found && found != Py_None ? PyLong_AsVoidPtr(found) : NULL;
    if (PyErr_Occurred()) {
        PyErr_WriteUnraisable(xla_called);
        XlaError given = {sizeof given, NULL, "kgen failed", XLA_INTERNAL};
        error = frame->api->create_error(&given);
    }
    Py_XDECREF(found);
    PyGILState_Release(state);
    return error;
}

static void *handle_on_host(XlaFrame *frame) { return handle(frame, 0); }
static void *handle_on_device(XlaFrame *frame) { return handle(frame, 1); }

static PyObject *xla_handlers(PyObject *module, PyObject *called) {
    (void)module;
    Py_XSETREF(xla_called, Py_NewRef(called));
    return Py_BuildValue("KK", (unsigned long long)(uintptr_t)handle_on_host, (unsigned long long)(uintptr_t)handle_on_device);
}

static PyObject *xla_repeat(PyObject *module, PyObject *arguments) {
    unsigned long long address;
    int on_device;
    PyObject *again, *buffers;
    Py_ssize_t count;
    (void)module;
    if (!PyArg_ParseTuple(arguments, "KpO!O!", &address, &on_device, &AgainType, &again, &PyTuple_Type, &buffers)) return NULL;
    XlaFrame *frame = (XlaFrame *)(uintptr_t)address;
    Replay *made = PyMem_Calloc(1, sizeof(Replay));
    if (!made) return PyErr_NoMemory();
    Py_ssize_t end = frame->arguments.count + frame->results.count;
    if (integers(buffers, made->buffers, MAX_VALUES, &count, -1, end) || count != ((Again *)again)->count) {
        PyMem_Free(made);
        if (!PyErr_Occurred()) wrong("each value has a buffer, or -1");
        return NULL;
    }
    if (replay_count >= MAX_REPLAYS || !key_of(frame, on_device, &made->key)) {
        PyMem_Free(made);
        Py_RETURN_NONE;
    }
    made->again = (Again *)Py_NewRef(again);
    Replay **list = list_of(&made->key);
    made->next = __atomic_load_n(list, __ATOMIC_ACQUIRE);
    while (!__atomic_compare_exchange_n(list, &made->next, made, 0, __ATOMIC_RELEASE, __ATOMIC_ACQUIRE)) {}
    __atomic_add_fetch(&replay_count, 1, __ATOMIC_RELAXED);
    Py_RETURN_NONE;
}

static PyMethodDef functions[] = {
    {"xla_handlers", xla_handlers, METH_O,
     "xla_handlers(called): the addresses of XLA's handlers on the host and on devices, which call it for what is new."},
    {"xla_repeat", xla_repeat, METH_VARARGS,
     "xla_repeat(frame, on_device, again, buffers): the next calls like this one launch what `again` launches."},
    {NULL, NULL, 0, NULL},
};

static struct PyModuleDef module = {PyModuleDef_HEAD_INIT, .m_name = "kgen._call", .m_size = -1, .m_methods = functions};

PyMODINIT_FUNC PyInit__call(void) {
    if (PyType_Ready(&CallType) || PyType_Ready(&AgainType)) return NULL;
    PyObject *made = PyModule_Create(&module);
#ifdef Py_GIL_DISABLED
    if (made) PyUnstable_Module_SetGIL(made, Py_MOD_GIL_NOT_USED);
#endif
    if (made && PyModule_AddObjectRef(made, "Call", (PyObject *)&CallType)) Py_CLEAR(made);
    return made;
}
