#!/usr/bin/env bash
# Installs the library to a scratch prefix and builds strangers' programs on it three ways.
#
#   consumer_test.sh BUILD_DIR CMAKE COMPILER
set -euo pipefail

build=$1 cmake=$2 compiler=$3
here=$(cd -- "$(dirname -- "${BASH_SOURCE[0]}")" && pwd)
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT

build_and_run() {
  local name=$1
  shift
  echo "== $name"
  "$cmake" -G Ninja -S "$here" -B "$scratch/$name" -DCMAKE_CXX_COMPILER="$compiler" "$@"
  "$cmake" --build "$scratch/$name"
  "$scratch/$name/consumer" "$scratch/$name.bloom"
}

"$cmake" --install "$build" --prefix "$scratch/first" >/dev/null
# The installed tree is moved before use: nothing in it may remember where it was put.
mv "$scratch/first" "$scratch/prefix"

build_and_run find_package -DCMAKE_PREFIX_PATH="$scratch/prefix"
printf '7\n5\n' | gzip >"$scratch/two.gz"
build_and_run find_package_text -DCMAKE_PREFIX_PATH="$scratch/prefix" -DCONSUMER_TEXT=ON
"$scratch/find_package_text/text_consumer" "$scratch/two.gz"
"$scratch/find_package_text/redis_consumer"

# The library of BUILD_DIR stands in for the one that would be compiled here from the same files;
# scripts/check_install compiles it. All else is what the other project's own rules say.
if [[ -f $build/libbloomery.a ]]; then
  echo "== add_subdirectory"
  tree=$scratch/add_subdirectory
  "$cmake" -G Ninja -S "$here" -B "$tree" -DCMAKE_CXX_COMPILER="$compiler" \
    -DBLOOMERY_TREE="$here/../.."
  ninja -C "$tree" CMakeFiles/consumer.dir/main.cpp.o
  cp "$build/libbloomery.a" "$tree/bloomery/"
  (cd "$tree" && ninja -t commands consumer | tail -n 1 | sh -e)
  "$tree/consumer" "$tree.bloom"
else
  build_and_run add_subdirectory -DBLOOMERY_TREE="$here/../.."
fi

echo "== pkg-config"
package=$(find "$scratch/prefix" -name bloomery.pc)
PKG_CONFIG_PATH=$(dirname "$package")
export PKG_CONFIG_PATH
read -ra flags <<<"$(pkg-config --cflags --libs bloomery)"
"$compiler" -std=c++20 "$here/main.cpp" "${flags[@]}" -o "$scratch/with_pkg_config"
LD_LIBRARY_PATH=$(dirname "$(dirname "$package")") \
  "$scratch/with_pkg_config" "$scratch/with_pkg_config.bloom"
read -ra flags <<<"$(pkg-config --cflags --libs bloomery-text)"
"$compiler" -std=c++20 "$here/text.cpp" "${flags[@]}" -o "$scratch/text_with_pkg_config"
LD_LIBRARY_PATH=$(dirname "$(dirname "$package")") \
  "$scratch/text_with_pkg_config" "$scratch/two.gz"
read -ra flags <<<"$(pkg-config --cflags --libs bloomery-redis)"
"$compiler" -std=c++20 "$here/redis.cpp" "${flags[@]}" -o "$scratch/redis_with_pkg_config"
LD_LIBRARY_PATH=$(dirname "$(dirname "$package")") "$scratch/redis_with_pkg_config"

echo "== the installed tree"
"$scratch/prefix/bin/bloomery" --version
for page in bash-completion/completions/bloomery zsh/site-functions/_bloomery \
  fish/vendor_completions.d/bloomery.fish man/man1/bloomery.1; do
  test -s "$scratch/prefix/share/$page"
done
source_tree=$(cd -- "$here/../.." && pwd)
if grep -rIl -e "$source_tree" -e "$scratch/first" -- "$scratch/prefix"; then
  echo "an installed file names a directory of this machine" >&2
  exit 1
fi
