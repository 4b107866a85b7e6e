#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# build.sh FOLDER OUTPUT: the page, built in FOLDER from the sources beside this script. Needs Node 18 and, the first time,
# the packages of package-lock.json.
set -eu
sources=$(dirname "$(readlink -f "$0")")
folder=$1 output=$2

mkdir -p "$folder"
rm -rf "$folder/src"
cp -r "$sources/src" "$sources/index.html" "$sources/package.json" "$sources/package-lock.json" "$sources/tsconfig.json" \
	"$sources/vite.config.js" "$sources/.npmrc" "$folder"
cd "$folder"
if ! cmp -s package-lock.json node_modules/.built-from; then
	npm ci --ignore-scripts --prefer-offline --no-audit --no-fund --loglevel=error ||
		{ echo 'cannot get the packages of ui/package-lock.json [meson setup -Dui=disabled builds without the page]' >&2; exit 1; }
	cp package-lock.json node_modules/.built-from
fi
node_modules/.bin/tsc --noEmit
node_modules/.bin/vite build --logLevel warn
cp dist/index.html "$output"
