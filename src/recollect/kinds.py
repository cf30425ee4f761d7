"""What a file is by its name: which reader it needs, which language it is written in, or that it holds no text."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Final, Literal, cast

Reader = Literal["markdown", "text", "code", "html", "pdf", "docx", "notebook", "binary", "unknown"]


def _table(lines: str) -> dict[str, str]:
    """`name: suffix suffix ...` on each line, turned round to suffix -> name."""
    table: dict[str, str] = {}
    for line in lines.strip().splitlines():
        name, _, suffixes = line.strip().partition(": ")
        table.update(dict.fromkeys(suffixes.split(), name))
    return table


LANGUAGES: Final[Mapping[str, str]] = _table("""
    ada: .adb .ads
    assembly: .asm .s
    astro: .astro
    awk: .awk
    batch: .bat .cmd
    c: .c .h
    clojure: .clj .cljc .cljs .edn
    cmake: .cmake
    cobol: .cbl .cob
    coffeescript: .coffee
    cpp: .cc .cpp .cxx .c++ .hh .hpp .hxx .ipp .tpp .ino
    crystal: .cr
    csharp: .cs .csx
    css: .css
    cuda: .cu .cuh
    cypher: .cypher .cql
    d: .d
    dart: .dart
    docker: .dockerfile
    elixir: .ex .exs
    elm: .elm
    erlang: .erl .hrl
    fortran: .f .f77 .f90 .f95 .f03 .for
    fsharp: .fs .fsi .fsx
    gdscript: .gd
    gleam: .gleam
    glsl: .glsl .frag .vert
    go: .go
    gradle: .gradle
    graphql: .graphql .gql
    groovy: .groovy
    haskell: .hs .lhs
    hcl: .hcl .tf .tfvars
    java: .java
    javascript: .js .jsx .mjs .cjs
    jinja: .j2 .jinja .jinja2
    julia: .jl
    kotlin: .kt .kts
    less: .less
    lisp: .lisp .lsp .el
    lua: .lua
    make: .mk .mak
    matlab: .mlx
    nim: .nim
    nix: .nix
    objective-c: .m .mm
    ocaml: .ml .mli
    odin: .odin
    pascal: .pas .dpr
    perl: .pl .pm
    php: .php .phtml
    powershell: .ps1 .psm1 .psd1
    prisma: .prisma
    prolog: .prolog
    protobuf: .proto
    python: .py .pyi .pyw .pyx .pxd
    r: .r
    racket: .rkt
    ruby: .rb .rake .gemspec
    rust: .rs
    sass: .sass .scss
    scala: .scala .sc .sbt
    scheme: .scm .ss
    shell: .sh .bash .zsh .fish .ksh
    solidity: .sol
    sql: .sql .ddl
    starlark: .bzl .star
    svelte: .svelte
    swift: .swift
    tcl: .tcl
    thrift: .thrift
    tsx: .tsx
    typescript: .ts .mts .cts
    verilog: .v .sv .svh .vh
    vhdl: .vhd .vhdl
    vim: .vim
    visual-basic: .vb .vbs .bas
    vue: .vue
    wgsl: .wgsl
    zig: .zig
""")

LANGUAGES_BY_NAME: Final[Mapping[str, str]] = _table("""
    cmake: cmakelists.txt
    docker: dockerfile containerfile
    groovy: jenkinsfile
    just: justfile
    make: makefile gnumakefile
    ruby: gemfile rakefile vagrantfile podfile brewfile
    shell: .bashrc .bash_profile .profile .zshrc pkgbuild
    starlark: build.bazel workspace.bazel module.bazel tiltfile
    vim: .vimrc
""")

LANGUAGES_BY_INTERPRETER: Final[Mapping[str, str]] = _table("""
    awk: awk gawk mawk
    javascript: node deno bun
    lua: lua luajit
    perl: perl
    php: php
    python: python pypy
    r: rscript
    ruby: ruby
    shell: sh bash dash zsh fish ksh ash
    tcl: tclsh wish
""")

READERS: Final[Mapping[str, str]] = _table("""
    markdown: .md .markdown .mdown .mkd .mdx .qmd .rmd
    html: .html .htm .xhtml .xht
    pdf: .pdf
    docx: .docx .docm
    notebook: .ipynb
    text: .txt .text .rst .adoc .asciidoc .org .tex .bib .log .csv .tsv .json .jsonl .ndjson .json5 .yaml .yml .toml .xml .xsd .xsl
    text: .ini .cfg .conf .properties .env .srt .vtt .po .pot .diff .patch .eml .ics .textile .pod
    binary: .png .jpg .jpeg .gif .bmp .ico .icns .tif .tiff .webp .avif .heic .psd .ai .eps .svg .svgz .xcf .cr2 .nef
    binary: .mp3 .wav .flac .ogg .oga .opus .m4a .aac .wma .aiff .mid .mp4 .m4v .mkv .avi .mov .wmv .webm .flv .mpg .mpeg
    binary: .zip .gz .tgz .bz2 .tbz .xz .txz .zst .lz4 .lzma .7z .rar .tar .jar .war .ear .whl .egg .deb .rpm .apk .ipa .dmg .iso .cab .msi
    binary: .exe .dll .so .dylib .a .lib .o .obj .pyc .pyo .pyd .class .wasm .bin .elf .ko .node .beam .hi .rlib .rmeta .pdb
    binary: .ttf .otf .woff .woff2 .eot .db .sqlite .sqlite3 .mdb .parquet .feather .arrow .orc .avro .npy .npz .pkl .pickle .h5 .hdf5 .mat
    binary: .onnx .pt .pth .ckpt .safetensors .gguf .tflite .pb .joblib .faiss .doc .xls .xlsx .ppt .pptx .odt
    binary: .ods .odp .rtf .pages .epub .mobi .keystore .jks .p12 .pfx .der .gpg .swp .swo .ds_store
""")


BARE_NAMES: Final = frozenset({"changelog", "codeowners", "copying", "licence", "license", "notice", "procfile", "readme"})
"""Files without a suffix, beside those that are named after a language's tool."""

WITH_VARIANTS: Final = ("containerfile", "dockerfile", "makefile")
"""Names that are often followed by a variant: `Dockerfile.dev`."""


def reader_of(name: str) -> Reader:
    """The reader a file needs by its name; "unknown" where the content must tell."""
    if language_of(name):
        return "code"
    return cast(Reader, READERS.get(suffix_of(name), "unknown"))


def language_of(name: str) -> str | None:
    """The programming language a file is written in, by its name."""
    lowered, suffix = name.lower(), suffix_of(name)
    if found := LANGUAGES_BY_NAME.get(lowered) or LANGUAGES.get(suffix):
        return found
    stem = lowered.split(".", 1)[0]
    return LANGUAGES_BY_NAME[stem] if stem in WITH_VARIANTS and suffix not in READERS else None


def suffix_of(name: str) -> str:
    """The last dot and what follows, in small letters; a leading dot counts, so that `.env` is in the tables as well."""
    dot = name.rfind(".")
    return name[dot:].lower() if dot >= 0 else ""


_FILE_NAME = re.compile(r"[\w.@+~$()\[\]{}=,%-]+")
_HIDDEN = re.compile(r"\.[a-z][a-z_-]+", re.IGNORECASE)


def is_file_name(name: str) -> bool:
    """Whether a word can only be the name of a file that is read here, by its suffix or as a whole; `data.xyz` may be anything."""
    if not _FILE_NAME.fullmatch(name) or not any(map(str.isalnum, name)):
        return False
    return reader_of(name) not in ("binary", "unknown") or name.lower() in BARE_NAMES or bool(_HIDDEN.fullmatch(name))
