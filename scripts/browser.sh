#!/bin/sh
# The browser that the page is tested in: Debian's Chromium, installed where that is possible. Without one its tests are skipped, and fail in CI.
set -eu
for name in chromium chromium-browser google-chrome; do
    command -v "$name" > /dev/null 2>&1 && exit 0
done
if [ "$(id -u)" = 0 ] && command -v apt-get > /dev/null 2>&1; then
    echo "installing chromium" >&2
    { apt-get -qq update && DEBIAN_FRONTEND=noninteractive apt-get -qq install -y --no-install-recommends chromium fonts-dejavu-core; } > /dev/null
else
    echo "there is no Chromium to test the page in: install the package chromium" >&2
fi
