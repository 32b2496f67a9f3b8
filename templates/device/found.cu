// A value, and where in its row it is: at 0 until one beats the value that it starts with.
template <typename T, typename Place>
struct Found {
    T value;
    Place at;
};
