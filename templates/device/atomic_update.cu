// Replaces an element by function(element), atomically, in the word that holds it; writes nothing that stays the same.
template <typename Word, typename T, typename Function>
static __device__ __forceinline__ void atomic_update(T* at, Function function)
{
    const unsigned long long address = (unsigned long long)at;
    Word* word = reinterpret_cast<Word*>(address / sizeof(Word) * sizeof(Word));
    const int first = 8 * (int)(address % sizeof(Word));  // of the element's bits
    const Word mask = (Word)-1 >> 8 * (sizeof(Word) - sizeof(T)) << first;
    Word seen = *static_cast<volatile Word*>(word);
    while (true) {
        const Word moved = seen >> first;
        T element;
        memcpy(&element, &moved, sizeof(T));
        element = function(element);
        Word bits = 0;
        memcpy(&bits, &element, sizeof(T));
        const Word wanted = (seen & ~mask) | bits << first;
        const Word before = wanted == seen ? seen : atomicCAS(word, seen, wanted);
        if (before == seen) {
            return;
        }
        seen = before;
    }
}
