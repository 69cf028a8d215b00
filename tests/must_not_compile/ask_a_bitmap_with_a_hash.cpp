// expect: bitmap.may_contain(hash)
// A bitmap asked with hashes would say maybe to most strangers: it takes integers as themselves.
#include <bloomery/bloomery.hpp>

bool ask(const bloomery::Set<bloomery::Bitmap>& bitmap, bloomery::Hash hash) {
  return bitmap.may_contain(hash);
}
