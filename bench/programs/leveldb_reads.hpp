// A LevelDB database of the keys 0, 2, 4 ... in a directory of its own, which counts the reads of
// its table files.
//
// Nothing is cached but open files, their indexes and their filters, so each read is a block that a
// filter did not spare. The odd numbers are strangers that lie between the keys.
// Limits:  for benchmarks and tests; one table level, written once.
// Threads: one.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <stdexcept>
#include <string>
#include <utility>

#include <leveldb/cache.h>
#include <leveldb/db.h>
#include <leveldb/env.h>
#include <leveldb/filter_policy.h>
#include <leveldb/write_batch.h>

namespace bloomery::bench {

inline void expect_ok(const leveldb::Status& status) {
  if (!status.ok()) throw std::runtime_error("LevelDB: " + status.ToString());
}

class ReadCountingEnv : public leveldb::EnvWrapper {
 public:
  ReadCountingEnv() : EnvWrapper(leveldb::Env::Default()) {}
  std::uint64_t reads() const { return reads_; }

  leveldb::Status NewRandomAccessFile(const std::string& name,
                                      leveldb::RandomAccessFile** file) override {
    const leveldb::Status status = target()->NewRandomAccessFile(name, file);
    if (status.ok()) *file = new CountedFile(*file, reads_);
    return status;
  }

 private:
  class CountedFile : public leveldb::RandomAccessFile {
   public:
    CountedFile(leveldb::RandomAccessFile* file, std::atomic<std::uint64_t>& reads)
        : file_(file), reads_(reads) {}
    leveldb::Status Read(std::uint64_t offset, std::size_t n, leveldb::Slice* result,
                         char* scratch) const override {
      reads_.fetch_add(1, std::memory_order_relaxed);
      return file_->Read(offset, n, result, scratch);
    }

   private:
    std::unique_ptr<leveldb::RandomAccessFile> file_;
    std::atomic<std::uint64_t>& reads_;
  };

  std::atomic<std::uint64_t> reads_ = 0;
};

class LevelDbOfEvens {
 public:
  // The policy may be null and must outlive this. The directory must not be there yet.
  LevelDbOfEvens(const std::filesystem::path& directory, const leveldb::FilterPolicy* policy,
                 std::uint64_t keys, std::string (*key_of)(std::uint64_t))
      : key_of_(key_of), cache_(leveldb::NewLRUCache(0)) {
    leveldb::Options options;
    options.create_if_missing = true;
    options.error_if_exists = true;
    options.env = &env_;
    options.filter_policy = policy;
    options.block_cache = cache_.get();
    options.compression = leveldb::kNoCompression;
    options.write_buffer_size = std::size_t{512} << 20;  // so that compaction sees all at once
    leveldb::DB* opened = nullptr;
    expect_ok(leveldb::DB::Open(options, directory.string(), &opened));
    db_.reset(opened);
    fill(keys);
  }

  bool has(std::uint64_t number) {
    const leveldb::Status status = db_->Get(leveldb::ReadOptions(), key_of_(number), &value_);
    if (!status.ok() && !status.IsNotFound()) expect_ok(status);
    return status.ok();
  }
  std::uint64_t reads() const { return env_.reads(); }

 private:
  // Some twenty keys to a block of 4 KiB.
  static constexpr std::size_t value_bytes = 180;

  void fill(std::uint64_t keys) {
    leveldb::WriteBatch batch;
    for (std::uint64_t i = 0; i < keys; ++i) {
      batch.Put(key_of_(2 * i), std::string(value_bytes, static_cast<char>('a' + i % 26)));
      if (i % 1000 == 999 || i + 1 == keys) {
        expect_ok(db_->Write(leveldb::WriteOptions(), &batch));
        batch.Clear();
      }
    }
    db_->CompactRange(nullptr, nullptr);
    for (std::uint64_t i = 0; i < keys; i += 1000) has(2 * i);  // opens every file
  }

  std::string (*key_of_)(std::uint64_t);
  ReadCountingEnv env_;
  std::unique_ptr<leveldb::Cache> cache_;
  std::unique_ptr<leveldb::DB> db_;
  std::string value_;
};

}  // namespace bloomery::bench
