// Skip-gram as Ji, Satish, Li and Dubey 2016, "Parallelizing Word2Vec in Shared and
// Distributed Memory" (arXiv:1604.04661) describe it, to be measured against: all context
// words of a centre share its negative samples, so that scores and both gradients are
// products of small matrices, made by BLAS. Threads share the tables without locks.
//
// Usage: pword2vec_peer BLAS CORPUS OUT DIM WINDOW NEGATIVES SUBSAMPLE RATE EPOCHS THREADS SEED
// BLAS: a shared library that has cblas_sgemm, by that name or as SciPy's wheels name it.
// CORPUS: int64 V, int64 N, int64 counts[V], int32 tokens[N]; a token -1 ends a unit.
// OUT: float32 (V, DIM), no header. Prints the seconds of training.

#include <dlfcn.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <thread>
#include <vector>

using Sgemm = void (*)(int order, int ta, int tb, int m, int n, int k, float alpha, const float *a,
                       int lda, const float *b, int ldb, float beta, float *c, int ldc);
constexpr int kRowMajor = 101, kPlain = 111, kTransposed = 112;
constexpr int kTable = 100000000;  // noise table, as large as word2vec.c's
constexpr int kSteps = 1000;       // entries of the sigmoid table
constexpr float kMost = 6;         // beyond it the sigmoid is 0 or 1
constexpr int64_t kReport = 10000;  // tokens between looks at the learning rate

struct Options {
    int dim, window, negatives;
    double subsample, rate;
    int epochs, threads;
    uint64_t seed;
};

static Sgemm sgemm;
static Options options;
static int64_t vocabulary, n_stored, n_tokens;
static std::vector<int64_t> counts;
static std::vector<int32_t> stored, noise;
static std::vector<float> sigmoid;
static std::vector<uint32_t> keep;
static float *inputs, *outputs;
static std::atomic<int64_t> done{0};

static uint64_t next(uint64_t &state) { return state = state * 25214903917ULL + 11; }

[[noreturn]] static void fail(const char *what) {
    std::fprintf(stderr, "pword2vec_peer: %s\n", what);
    std::exit(1);
}

static void read_corpus(const char *path) {
    std::FILE *file = std::fopen(path, "rb");
    if (!file) fail("no corpus");
    int64_t head[2];
    if (std::fread(head, 8, 2, file) != 2) fail("no header");
    vocabulary = head[0], n_stored = head[1];
    counts.resize(vocabulary), stored.resize(n_stored);
    if (std::fread(counts.data(), 8, vocabulary, file) != size_t(vocabulary)) fail("no counts");
    if (std::fread(stored.data(), 4, n_stored, file) != size_t(n_stored)) fail("no tokens");
    std::fclose(file);
    for (int64_t count : counts) n_tokens += count;
}

static void make_tables() {
    double total = 0;
    for (int64_t count : counts) total += std::pow(double(count), 0.75);
    noise.resize(kTable);
    double reached = 0;
    int64_t place = 0;
    for (int64_t row = 0; row < vocabulary; row++) {
        reached += std::pow(double(counts[row]), 0.75) / total;
        while (place < kTable && (place < reached * kTable || row == vocabulary - 1))
            noise[place++] = int32_t(row);
    }
    for (int i = 0; i <= kSteps; i++) {
        double x = std::exp((2.0 * i / kSteps - 1) * kMost);
        sigmoid.push_back(float(x / (x + 1)));
    }
    for (int64_t count : counts) {
        double ratio = options.subsample * double(n_tokens) / double(count);
        double chance = options.subsample > 0 ? std::sqrt(ratio) + ratio : 1;
        keep.push_back(chance >= 1 ? UINT32_MAX : uint32_t(chance * double(UINT32_MAX)));
    }
    size_t bytes = (size_t(vocabulary) * options.dim * 4 + 63) / 64 * 64;
    inputs = static_cast<float *>(std::aligned_alloc(64, bytes));
    outputs = static_cast<float *>(std::aligned_alloc(64, bytes));
    std::memset(outputs, 0, bytes);
    uint64_t state = options.seed;
    for (int64_t i = 0; i < vocabulary * options.dim; i++)
        inputs[i] = (float((next(state) >> 16) & 0xFFFF) / 65536 - 0.5f) / float(options.dim);
}

// One thread's matrices: a context word a row, the centre and its noise a row.
struct Work {
    std::vector<float> in, out, in_step, out_step, scores;
    std::vector<int32_t> in_rows, out_rows, times;

    Work()
        : in(2 * options.window * options.dim), out((options.negatives + 1) * options.dim),
          in_step(in.size()), out_step(out.size()),
          scores(2 * options.window * (options.negatives + 1)) {}
};

static void gather(std::vector<float> &to, const float *from, const std::vector<int32_t> &rows) {
    for (size_t i = 0; i < rows.size(); i++)
        std::memcpy(&to[i * options.dim], from + int64_t(rows[i]) * options.dim, 4 * options.dim);
}

static void add(float *to, const std::vector<float> &steps, const std::vector<int32_t> &rows) {
    const int dim = options.dim;
    for (size_t i = 0; i < rows.size(); i++) {
        float *__restrict row = to + int64_t(rows[i]) * dim;
        const float *__restrict step = &steps[i * dim];
        for (int d = 0; d < dim; d++) row[d] += step[d];
    }
}

// Draw the noise of one centre; a word drawn again counts again.
static void draw(Work &work, int32_t centre, uint64_t &state) {
    work.out_rows.assign(1, centre), work.times.assign(1, 1);
    for (int k = 0; k < options.negatives; k++) {
        int32_t row = noise[(next(state) >> 16) % kTable];
        if (row == centre) continue;
        auto known = std::find(work.out_rows.begin(), work.out_rows.end(), row);
        if (known == work.out_rows.end())
            work.out_rows.push_back(row), work.times.push_back(1);
        else
            work.times[known - work.out_rows.begin()]++;
    }
}

static void train_centre(Work &work, float rate) {
    const int dim = options.dim;
    const int n_in = int(work.in_rows.size()), n_out = int(work.out_rows.size());
    gather(work.in, inputs, work.in_rows);
    gather(work.out, outputs, work.out_rows);
    sgemm(kRowMajor, kPlain, kTransposed, n_out, n_in, dim, 1, work.out.data(), dim,
          work.in.data(), dim, 0, work.scores.data(), n_in);
    for (int o = 0; o < n_out; o++) {
        const float label = o == 0, weight = rate * float(work.times[o]);
        for (int i = 0; i < n_in; i++) {
            float &score = work.scores[o * n_in + i];
            float likely = score > kMost    ? 1
                           : score < -kMost ? 0
                                            : sigmoid[int((score + kMost) * (kSteps / kMost / 2))];
            score = (label - likely) * weight;
        }
    }
    sgemm(kRowMajor, kPlain, kPlain, n_out, dim, n_in, 1, work.scores.data(), n_in,
          work.in.data(), dim, 0, work.out_step.data(), dim);
    sgemm(kRowMajor, kTransposed, kPlain, n_in, dim, n_out, 1, work.scores.data(), n_in,
          work.out.data(), dim, 0, work.in_step.data(), dim);
    add(outputs, work.out_step, work.out_rows);
    add(inputs, work.in_step, work.in_rows);
}

static void train_unit(Work &work, const std::vector<int32_t> &unit, float rate, uint64_t &state) {
    const int length = int(unit.size());
    for (int i = 0; i < length; i++) {
        const int reach = 1 + int((next(state) >> 16) % options.window);
        work.in_rows.clear();
        for (int j = std::max(0, i - reach); j < std::min(length, i + reach + 1); j++)
            if (j != i) work.in_rows.push_back(unit[j]);
        if (work.in_rows.empty()) continue;
        draw(work, unit[i], state);
        train_centre(work, rate);
    }
}

static void train_share(int thread) {
    const int64_t first = n_stored * thread / options.threads;
    const int64_t last = n_stored * (thread + 1) / options.threads;
    const double all = double(n_tokens) * options.epochs + 1;
    uint64_t state = options.seed + uint64_t(thread) + 1;
    float rate = float(options.rate);
    int64_t untold = 0;
    std::vector<int32_t> unit;
    Work work;
    for (int epoch = 0; epoch < options.epochs; epoch++) {
        for (int64_t i = first; i < last; i++) {
            const int32_t row = stored[i];
            if (row >= 0) {
                untold++;
                if (uint32_t(next(state) >> 16) <= keep[row]) unit.push_back(row);
            }
            if (row < 0 || i + 1 == last) {
                if (untold > kReport) {
                    double behind = double(done.fetch_add(untold) + untold) / all;
                    rate = float(options.rate * std::max(1 - behind, 1e-4));
                    untold = 0;
                }
                train_unit(work, unit, rate, state);
                unit.clear();
            }
        }
    }
}

int main(int argc, char **argv) {
    if (argc != 12) fail("takes 11 arguments; see the head of its source");
    setenv("OPENBLAS_NUM_THREADS", "1", 1);
    void *blas = dlopen(argv[1], RTLD_NOW);
    if (!blas) fail(dlerror());
    for (const char *name : {"cblas_sgemm", "scipy_cblas_sgemm"})
        if (!sgemm) sgemm = reinterpret_cast<Sgemm>(dlsym(blas, name));
    if (!sgemm) fail("the library has no cblas_sgemm");
    options = {std::atoi(argv[4]), std::atoi(argv[5]), std::atoi(argv[6]), std::atof(argv[7]),
               std::atof(argv[8]), std::atoi(argv[9]), std::atoi(argv[10]),
               std::strtoull(argv[11], nullptr, 10)};
    read_corpus(argv[2]);
    make_tables();
    auto begun = std::chrono::steady_clock::now();
    std::vector<std::thread> threads;
    for (int thread = 0; thread < options.threads; thread++) threads.emplace_back(train_share, thread);
    for (auto &thread : threads) thread.join();
    std::chrono::duration<double> took = std::chrono::steady_clock::now() - begun;
    std::FILE *file = std::fopen(argv[3], "wb");
    if (!file || std::fwrite(inputs, 4, vocabulary * options.dim, file) !=
                     size_t(vocabulary) * options.dim || std::fclose(file))
        fail("cannot write the vectors");
    std::printf("%.3f\n", took.count());
}
