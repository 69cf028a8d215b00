// The disk as it may look after a power cut: rebuilt from a trace of what a program did to it.
//
//    DiskAfterCut disk(read_trace(trace));
//    for (std::size_t cut = 0; cut <= disk.events(); ++cut) {
//      disk.cut_at(cut);                      // power fails before event number `cut`
//      disk.rebuild(seed, directory);         // one of the disks that may then be found
//      ... open what is in `directory`; disk.marks() was acknowledged ...
//    }
//
// The law, sector by sector of 512 bytes:
//
//    durable version | version | version | cut      a sector holds any one of these,
//           ^            not yet synced             whatever its neighbours hold
//      last sync that has ended
//
// - A sync of a file makes durable all that was done to its bytes and its length before the sync
//   began, and counts once it has ended. A sync of a range (msync, O_DSYNC, RWF_DSYNC) does so for
//   the sectors of that range, and for the length. Names are not part of it.
// - After a sync that failed the system takes the pages for clean: what its sectors had may be on
//   the disk or not, and no later sync writes it, until the sector is written again.
// - The length is a version of its own: it may be old while bytes are new (they are lost), or new
//   while bytes are old (they are zero).
// - Names (create, link, rename, unlink) are durable after a sync of their directory; of the others
//   each is there or not. A rename is atomic. Names::in_order knows what the journal of ext4 adds:
//   if one change of names is there, so are all before it.
//
// A seed chooses one disk. Seeds differ in how they choose: nothing or everything survived; all up
// to one moment or after it; each sector or each page of 4,096 bytes alone; all but one; only one;
// for all files alike, or for each in its own way.
//
// Limits:  versions are what the recorder saw; sub-directories and their names are durable at once;
//          a rename between directories is durable when its new directory is synced; two names of
//          one file come back as two files.
// Threads: one at a time.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <map>
#include <span>
#include <string>
#include <vector>

#include "disk_trace.hpp"

namespace bloomery::cuts {

class DiskAfterCut {
 public:
  enum class Names { each_alone, in_order };

  explicit DiskAfterCut(std::vector<DiskEvent> events, Names names = Names::each_alone);

  // Cuts are numbered 0 to events(), both included.
  std::size_t events() const { return events_.size(); }
  const DiskEvent& event(std::size_t number) const { return events_[number]; }

  // What existed before the recording exists at cut 0, too. Forward costs what happened in
  // between; back to an earlier cut begins from the start.
  void cut_at(std::size_t cut);
  // What the program said before the cut, in order.
  const std::vector<std::string>& marks() const { return marks_; }
  // Is the disk after this cut the same for every seed?
  bool is_certain() const;

  // One disk that may be found after the cut: names, relative to the directory, and bytes.
  std::map<std::string, std::string> files(std::uint64_t seed) const;
  // The same on a real disk; what is in the directory goes. Throws std::runtime_error.
  void rebuild(std::uint64_t seed, const std::filesystem::path& directory) const;

 private:
  static constexpr std::uint64_t sector_bytes = 512;
  static constexpr std::uint64_t page_bytes = 4096;

  struct Version {
    std::size_t event;
    std::array<char, sector_bytes> bytes;
    bool given_up = false;  // by a sync that failed
  };
  struct Length {
    std::size_t event;
    std::uint64_t bytes;
  };
  struct File {
    std::string durable;  // as many bytes as there are durable ones; zero behind them
    std::uint64_t durable_length = 0;
    std::string current;                                    // what a reader sees
    std::map<std::uint64_t, std::vector<Version>> pending;  // by sector
    std::vector<Length> lengths;                            // pending
  };
  struct Sync {
    std::size_t event;
    std::uint64_t file, offset, length;
    std::string directory;
    bool names;
  };
  struct Choice;

  void apply(const DiskEvent& event);
  void begin_file(const DiskEvent& event);
  File& file_of(std::uint64_t inode) { return files_.at(newest_.at(inode)); }
  void write_bytes(File& file, std::uint64_t offset, std::string_view bytes);
  void set_length(File& file, std::uint64_t length);
  void add_version(File& file, std::uint64_t sector);
  void end_sync(const Sync& sync);
  void give_up(File& file, const Sync& sync) const;
  static void make_durable(File& file, const Sync& sync);
  void make_names_durable(const Sync& sync);
  void apply_name(std::map<std::string, std::size_t>& names, std::size_t number) const;
  std::map<std::string, std::size_t> names_after(const Choice& choice) const;
  std::string bytes_after(const File& file, const Choice& choice) const;

  std::vector<DiskEvent> events_;
  Names rule_;
  std::size_t cut_ = 0;
  std::vector<File> files_;
  std::map<std::uint64_t, std::size_t> newest_;  // inode -> file: inode numbers are used again
  std::vector<std::size_t> file_of_event_;       // of create, link, rename: which file
  std::map<std::string, std::size_t> durable_names_;
  std::vector<std::size_t> pending_names_;  // numbers of events
  std::map<std::uint64_t, Sync> syncs_;     // by ticket, begun and not ended
  std::vector<std::string> marks_;
};

}  // namespace bloomery::cuts
