#!/usr/bin/env bash
# rootfs.sh OUT.tar PACKAGE...
# Writes a root file system that holds the named Debian packages of this machine, with all they depend
# on, as a tar file for `docker import`. Nothing is downloaded: the packages have to be installed here.
set -euo pipefail
out=$1
shift
root=$(mktemp -d)
trap 'rm -rf "$root"' EXIT

# A shell, the usual tools and what TLS needs, as in Debian's slim image.
basic=(base-files base-passwd bash ca-certificates coreutils dash findutils grep gzip hostname libc-bin libstdc++6 mawk procps sed tar)
needed() {
  apt-cache depends --installed --recurse --no-suggests --no-recommends --no-enhances \
    --no-conflicts --no-breaks --no-replaces "$@" | grep -E '^[a-z0-9]' | sort -u
}
installed() { dpkg-query --show --showformat '${Package}\n' | sort -u; }
closure=$(comm -12 <(needed "${basic[@]}" "$@") <(installed))

# Debian keeps /bin, /sbin and /lib as links into /usr; files listed under the old paths go to the new ones.
mkdir -p "$root"/usr/{bin,sbin,lib,lib64}
ln -s usr/bin "$root/bin"
ln -s usr/sbin "$root/sbin"
ln -s usr/lib "$root/lib"
ln -s usr/lib64 "$root/lib64"
# shellcheck disable=SC2086 # one package a word
dpkg-query --listfiles $closure | grep '^/' \
  | grep -vE '^/(\.|bin|sbin|lib|lib64)$|^/usr/share/(doc|man|locale|info|lintian|bug|perl5/debconf)/|^/usr/lib/udev/' \
  | sed -E 's#^/(bin|sbin|lib|lib64)/#/usr/\1/#' | sort -u \
  | while read -r path; do if [ -e "$path" ] || [ -L "$path" ]; then echo ".$path"; fi; done >"$root/list"
tar --create --directory / --no-recursion --files-from "$root/list" --file - | tar --extract --directory "$root"
rm "$root/list"

# What the packages' install scripts would have made.
mkdir -p "$root"/{dev,etc/ssl/certs,home,proc,root,run,sys,tmp,var/tmp}
chmod 1777 "$root/tmp" "$root/var/tmp"
cp /usr/share/base-passwd/passwd.master "$root/etc/passwd"
cp /usr/share/base-passwd/group.master "$root/etc/group"
sed -i 's/:\*:/:x:/' "$root/etc/passwd"
# The machine's own certificates, so that package registries behind a proxy of its are trusted too.
cp -L /etc/ssl/certs/ca-certificates.crt "$root/etc/ssl/certs/"
ldconfig -r "$root"
tar --create --directory "$root" --file "$out" .
