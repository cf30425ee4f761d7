"""What is read of a program in each language: one sample with all that the language has, beside what an outline must say of it."""

from __future__ import annotations

from dataclasses import dataclass

import pytest

from recollect.outline import Outline, unpack
from recollect.syntax import outline
from recollect.syntax.parsing import GRAMMARS


@dataclass(frozen=True)
class Sample:
    """A program; its definitions as `kind qualified`, its imports as `module [there=here ...] [(alias)]`, some of its uses as
    `within: receiver.name`, and of some definitions signature, doc, decorators and bases."""

    code: str
    definitions: str
    imports: str
    uses: str
    signatures: dict[str, str]
    docs: dict[str, str]
    decorators: dict[str, tuple[str, ...]]
    bases: dict[str, tuple[str, ...]]


SAMPLES = {
    "python": Sample(
        '''"""A module."""
import os.path as p, sys
from ..store.rows import (insert as put, Row)  # both
from . import *

# The most there may be.
LIMIT: int = 10
names = other = []
names.append(1)

@cache
@app.route("/x")
async def load(path: Path, rows: list[Row] | None = None) -> "Table":
    """Read it.

    All of it."""
    def inner():
        return np.linalg.norm(put(1))
    return inner()

class Store(Base, abc.Closing, Generic[T], metaclass=Meta):
    """Keeps rows."""
    size: int = 1

    def write(self, row: Row) -> None:
        self.check().flush()
        Row(1)

    class Inner:
        @property
        def value(self): return 1

if True:
    def late(): ...
type Alias = int
''',
        """constant LIMIT; constant names; function load; function load.inner; class Store; method Store.write; class Store.Inner
        method Store.Inner.value; function late; type Alias""",
        "os.path (p); sys; ..store.rows insert=put Row=Row; . *=*",
        """: names.append; load: cache; load: app.route; load: Path; load: Row; load.inner: np.linalg.norm; load.inner: put; load: inner
        Store: Base; Store: abc.Closing; Store.write: self.check; Store.write: self.check().flush; Store.write: Row""",
        {"load": 'async def load(path: Path, rows: list[Row] | None = None) -> "Table"', "LIMIT": "LIMIT: int = 10"},
        {"load": "Read it.\n\nAll of it.", "Store": "Keeps rows.", "LIMIT": "The most there may be."},
        {"load": ("cache", 'app.route("/x")'), "Store.Inner.value": ("property",)},
        {"Store": ("Base", "abc.Closing", "Generic")},
    ),
    "javascript": Sample(
        """import React, { useState as state, memo } from './react.js';
import * as fs from "fs";
import './side';
export { one, two as three } from './numbers';
export * from './all';
const { join, sep: separator } = require('path');
const http = require("http");

// Says hello,
// loudly.
export const hello = async (name) => { greet(name); };

export default function main() { new Server.Http(8080); }

/**
 * A shop.
 * @param x
 */
class Shop extends Store.Base {
  static count = 1;
  open = () => this.log('open');
  #secret() {}
  get total() { return sum(this.items) }
}
module.exports.later = function () {};
exports.soon = () => 1;
Shop.prototype.close = function () {};
const LIMIT = 10, LEAST = 2;
let CHANGING = 1;
let quiet = 1;
const api = { list() {}, find: function (id) {}, all: () => [] };
function* ids() { function step() {} return <Row.Cell of={1}><Label/></Row.Cell> }
const Made = class { run() {} };
""",
        """function hello; function main; class Shop; method Shop.open; method Shop.#secret; method Shop.total; function later
        function soon
        method Shop.close; constant LIMIT; constant LEAST; constant CHANGING; constant api; method api.list; method api.find; method api.all
        function ids; function ids.step; class Made; method Made.run""",
        """./react.js default=React useState=state memo=memo; fs (fs); ./side; ./numbers one=one two=three; ./all *=*
        path join=join sep=separator; http (http)""",
        "hello: greet; main: Server.Http; Shop: Store.Base; Shop.open: this.log; Shop.total: sum; ids: Row.Cell; ids: Label",
        {"hello": "export const hello = async (name)", "main": "export default function main()", "Shop": "class Shop extends Store.Base"},
        {"hello": "Says hello,\nloudly.", "Shop": "A shop.\n@param x"},
        {},
        {"Shop": ("Store.Base",)},
    ),
    "typescript": Sample(
        """import type { Row as Line } from './rows';
import Table, { type Cell } from '../table';
import old = require("old");

export interface Reader<T> extends Closing, io.Source { read(size: number): T; name: string }
export type Pair = { a: string };
export enum Color { Red, Green }
namespace App.Core { export function start(): Promise<Line> { return go<Line>(1); } }

/** Keeps. */
@Component({ selector: 'x' })
export abstract class Keeper<T> extends Base<T> implements Reader<T>, io.Sink {
  @Input() title: string;
  private readonly load = async (): Promise<void> => {};
  abstract size(): number;
  @Get('/all')
  async all(): Promise<Cell[]> { return []; }
  constructor(private store: Store) { super(); }
}
export declare function outside(a: number): void;
function over(a: string): void;
function over(a: any) {}
export const Limit = 1;
declare module "shims" { }
""",
        """interface Reader; method Reader.read; type Pair; enum Color; module App.Core; function App.Core.start; class Keeper
        method Keeper.load; method Keeper.size; method Keeper.all; method Keeper.constructor; function outside; function over
        constant Limit
        module shims""",
        "./rows Row=Line; ../table default=Table Cell=Cell; old (old)",
        """Reader: Closing; App.Core.start: Promise; App.Core.start: Line; App.Core.start: go; Keeper: Component; Keeper: Base
        Keeper: Reader; Keeper: Input; Keeper.all: Get; Keeper.all: Cell; Keeper.constructor: Store""",
        {"Keeper": "export abstract class Keeper<T> extends Base<T> implements Reader<T>, io.Sink", "Reader.read": "read(size: number): T"},
        {"Keeper": "Keeps."},
        {"Keeper": ("Component({ selector: 'x' })",), "Keeper.all": ("Get('/all')",)},
        {"Keeper": ("Base", "Reader", "io.Sink"), "Reader": ("Closing", "io.Source")},
    ),
    "tsx": Sample(
        """import { Button } from './button';
export const Page: React.FC<Props> = ({ id }: Props) => {
  const load = useCallback(() => fetchPage(id), [id]);
  function inner() { load(); }
  return <Layout.Main><Button onClick={inner} /></Layout.Main>;
};
""",
        "function Page; function Page.inner",
        "./button Button=Button",
        "Page: useCallback; Page: fetchPage; Page.inner: load; Page: Button; Page: Layout.Main; Page: Props",
        {"Page": "export const Page: React.FC<Props> = ({ id }: Props)"},
        {},
        {},
        {},
    ),
    "go": Sample(
        """package main

import (
	f "fmt"
	"example.com/app/rows"
	. "strings"
)

// Server serves.
// It has rows.
type Server struct {
	Base
	rows.Cache
	port int
}

type Handler interface {
	Handle(x int) error
	Closer
}

type Alias = Server
type Kind int

const Limit = 10

const (
	First Kind = iota
	Second
)

var Default = New(Limit)

// Serve starts it.
func (s *Server[T]) Serve(port int) error {
	const local = 1
	go s.listen(port)
	f.Println(&Server{port: 1}, rows.Row{})
	return nil
}

func New(limit int) *Server {
	run := func() {}
	run()
	return nil
}
""",
        """class Server; interface Handler; method Handler.Handle; type Alias; type Kind; constant Limit; constant First; constant Second
        constant Default; method Server.Serve; function New""",
        "fmt (f); example.com/app/rows; strings (.)",
        """Default: New; Server.Serve: s.listen; Server.Serve: f.Println; Server.Serve: Server; Server.Serve: rows.Row
        New: run; New: Server""",
        {"Server.Serve": "func (s *Server[T]) Serve(port int) error", "Server": "type Server struct", "Handler": "type Handler interface"},
        {"Server": "Server serves.\nIt has rows.", "Server.Serve": "Serve starts it."},
        {},
        {"Server": ("Base", "rows.Cache"), "Handler": ("Closer",)},
    ),
    "rust": Sample(
        """use std::collections::HashMap;
use crate::store::{self, rows::{Row, insert as put}, text::*};
pub mod words;
extern crate serde as sd;

/// A store.
#[derive(Debug, Clone)]
pub struct Store<T> { rows: T }
struct Pair(i32, i32);
enum Color { Red, Green(u8) }
union Raw { a: i32 }

pub trait Keep: Base + Send {
    const LIMIT: u8;
    fn keep(&self);
    fn size(&self) -> usize { 0 }
}

impl<T> Keep for Store<T> {
    /// Keeps it.
    #[inline]
    fn keep(&self) {
        const LOCAL: u8 = 1;
        self.rows.push(1);
        HashMap::<u8, u8>::new();
        vec![put(1)];
    }
}
impl<'a> Store<&'a str> { pub fn named(x: &Row) -> Self { fn helper() {} Store { rows: helper() } } }
mod inner { fn hidden() {} }
pub const MAX: u32 = 1;
static NAME: &str = "x";
type Alias = HashMap<u8, u8>;
macro_rules! square { ($x:expr) => { $x * $x } }
fn main() { let f = |x| go(x); println!("{}", f(1)); }
""",
        """class Store; class Pair; enum Color; class Raw; class Keep; constant Keep.LIMIT; method Keep.keep; method Keep.size
        method Store.keep; method Store.named; function Store.named.helper; module inner; function inner.hidden; constant MAX; constant NAME
        type Alias; function square; function main""",
        """std::collections HashMap=HashMap; crate::store self=self; crate::store::rows Row=Row insert=put; crate::store::text *=*
        self::words; serde (sd)""",
        """Store.keep: self.rows.push; Store.keep: HashMap.new; Store.keep: vec; Store.named: Row; Store.named: Store; main: go
        main: println; Alias: HashMap; Keep: Base""",
        {"Store.named": "pub fn named(x: &Row) -> Self", "Store": "pub struct Store<T>", "square": "macro_rules! square"},
        {"Store": "A store.", "Store.keep": "Keeps it."},
        {"Store": ("derive(Debug, Clone)",), "Store.keep": ("inline",)},
        {"Store": ("Keep",), "Keep": ("Base", "Send")},
    ),
    "java": Sample(
        """package app.core;

import static app.util.Checks.*;
import app.store.Row;

/** Keeps rows. */
@Service(name = "x")
public class Keeper<T> extends Base<T> implements Closing, io.Sink {
  public static final int MAX_ROWS = 1;
  private Row row = new Row();

  // Adds one.
  @Override
  public <X> List<X> add(Row a) throws Broken { this.check(); log(); a.next().size(); return of(new Box<X>() { void go() {} }); }

  Keeper(int x) { super(x); }

  static class Inner {}
}

interface Closing extends Source { void close(); default int state() { return 1; } int OPEN = 1; }
enum Color implements Closing { RED, BLUE { void paint() {} }; void mix() {} }
record Pair(int a, int b) implements Closing { Pair { } }
@interface Marked { String value(); }
""",
        """class Keeper; constant Keeper.MAX_ROWS; method Keeper.add; function Keeper.add.go; method Keeper.Keeper; class Keeper.Inner
        interface Closing; method Closing.close; method Closing.state; constant Closing.OPEN; enum Color; method Color.paint
        method Color.mix
        class Pair; method Pair.Pair; interface Marked; method Marked.value""",
        "app.util.Checks *=*; app.store.Row",
        """Keeper: Base; Keeper: Row; Keeper.add: this.check; Keeper.add: log; Keeper.add: a.next; Keeper.add: a.next().size
        Keeper.add: Box; Keeper.add: Override; Color: Closing""",
        {"Keeper.add": "public <X> List<X> add(Row a) throws Broken", "Pair": "record Pair(int a, int b) implements Closing"},
        {"Keeper": "Keeps rows.", "Keeper.add": "Adds one."},
        {"Keeper": ('Service(name = "x")',), "Keeper.add": ("Override",)},
        {"Keeper": ("Base", "Closing", "io.Sink"), "Closing": ("Source",)},
    ),
    "c": Sample(
        """#include <sys/types.h>
#include "rows.h"

/* The most. */
#define LIMIT 10
#define SQUARE(x) ((x) * (x))

struct row { int a; void (*call)(int); };
typedef struct { int b; } Table;
typedef struct point { int x; } point;
typedef int (*callback)(int);
enum color { RED, GREEN };
union raw { int a; };
static const int least = 1;
int changing = 2;

/**
 * Adds a row.
 */
static int *add_row(int a, struct row *r) {
  static int times = 1;
  r->call(1);
  return count(SQUARE(2));
}
int prototype(int a);
static struct row rows[] = { {1} };
""",
        """constant LIMIT; function SQUARE; class row; class Table; class point; type callback; enum color; class raw; constant least
        function add_row; constant rows""",
        "sys/types.h; rows.h",
        "add_row: r.call; add_row: count; add_row: SQUARE",
        {"add_row": "static int *add_row(int a, struct row *r)", "Table": "typedef struct Table", "SQUARE": "#define SQUARE(x)"},
        {"add_row": "Adds a row.", "LIMIT": "The most."},
        {},
        {},
    ),
    "cpp": Sample(
        """#include <vector>
namespace app::core {
/// Keeps rows.
template <typename T>
class Keeper : public Base<T>, private io::Sink {
 public:
  Keeper(int x) : size(x) {}
  ~Keeper();
  void add() const override;
  virtual int count() = 0;
  int operator+(const Keeper& o) { return o.sum(); }
  template <class Q> void each(Q q) { q(); }
  int size;
};
}
void app::core::Keeper::add() const {
  this->check();
  build<int>(1);
  std::move(x);
  new Row(1);
}
Keeper::~Keeper() {}
int* Keeper<T>::begin() { return 0; }
Keeper& Keeper::operator=(const Keeper& o) { return *this; }
using Rows = std::vector<int>;
enum class Color : int { Red };
constexpr int kLimit = 1;
template <class T> [[nodiscard]] T twice(T a) { return a; }
struct Known;
extern "C" { int exported(void) { return 1; } }
""",
        """module app.core; class app.core.Keeper; method app.core.Keeper.Keeper; method app.core.Keeper.count
        method app.core.Keeper.operator+; method app.core.Keeper.each; method app.core.Keeper.add; method Keeper.~Keeper
        method Keeper.begin
        method Keeper.operator=; type Rows; enum Color; constant kLimit; function twice; function exported""",
        "vector",
        """app.core.Keeper: Base; app.core.Keeper.operator+: o.sum; app.core.Keeper.add: this.check; app.core.Keeper.add: build
        app.core.Keeper.add: std.move; app.core.Keeper.add: Row; app.core.Keeper.each: q""",
        {
            "app.core.Keeper": "template <typename T> class Keeper : public Base<T>, private io::Sink",
            "Keeper.begin": "int* Keeper<T>::begin()",
        },
        {"app.core.Keeper": "Keeps rows."},
        {"twice": ("nodiscard",)},
        {"app.core.Keeper": ("Base", "io.Sink")},
    ),
    "csharp": Sample(
        """using System.Text;
using Rows = App.Store.Rows;
using static App.Checks;

namespace App.Core {
  /// <summary>Keeps rows.</summary>
  [Service("x")]
  public class Keeper<T> : Base<T>, IClosing where T : new() {
    public const int Limit = 1;
    private Row _row = new Row();
    public int Size { get; set; }

    [HttpGet("x")]
    public async Task<int> Add(Row a) {
      this.Check();
      Log();
      a?.Next();
      await a.Next().Save();
      var box = new Box<int>();
      int Local(int z) => z;
      return Local(1);
    }
    public Keeper(int x) : base(x) {}
    public static Keeper operator +(Keeper a, Keeper b) => a;
    public delegate void Changed(int x);
  }
}
interface IClosing : ISource { void Close(); }
struct Pair {}
record Line(int A) : Base;
enum Color { Red, Blue }
""",
        """module App.Core; class App.Core.Keeper; constant App.Core.Keeper.Limit; method App.Core.Keeper.Add
        function App.Core.Keeper.Add.Local
        method App.Core.Keeper.Keeper; method App.Core.Keeper.operator; type App.Core.Keeper.Changed; interface IClosing
        method IClosing.Close
        class Pair; class Line; enum Color""",
        "System.Text; App.Store.Rows (Rows); App.Checks",
        """App.Core.Keeper: Base; App.Core.Keeper: Row; App.Core.Keeper.Add: this.Check; App.Core.Keeper.Add: Log
        App.Core.Keeper.Add: a.Next
        App.Core.Keeper.Add: a.Next().Save; App.Core.Keeper.Add: Box; App.Core.Keeper.Add: Local; App.Core.Keeper.Add: HttpGet""",
        {"App.Core.Keeper.Add": "public async Task<int> Add(Row a)"},
        {"App.Core.Keeper": "<summary>Keeps rows.</summary>"},
        {"App.Core.Keeper": ('Service("x")',), "App.Core.Keeper.Add": ('HttpGet("x")',)},
        {"App.Core.Keeper": ("Base", "IClosing"), "IClosing": ("ISource",)},
    ),
    "ruby": Sample(
        """require 'json'
require_relative 'store/rows'

module App::Core
  LIMIT = 10

  # Keeps rows.
  class Keeper < Store::Base
    include Closing
    attr_reader :size

    def short(a) = a + 1

    # Opens one.
    def self.open(path)
      check path
      self.log(1)
      Row.new(1).save
      rows.each { |row| row.touch }
    end

    class << self
      def build; end
    end

    private def hidden; end

    def empty?; end
  end
end

def top; end
""",
        """module App.Core; constant App.Core.LIMIT; class App.Core.Keeper; method App.Core.Keeper.short; method App.Core.Keeper.open
        method App.Core.Keeper.build; method App.Core.Keeper.hidden; method App.Core.Keeper.empty?; function top""",
        "json; ./store/rows",
        """App.Core.Keeper.open: check; App.Core.Keeper.open: self.log; App.Core.Keeper.open: Row; App.Core.Keeper.open: rows.each
        App.Core.Keeper.open: row.touch; App.Core.Keeper: Closing; App.Core.Keeper: Store.Base""",
        {"App.Core.Keeper.open": "def self.open(path)", "App.Core.Keeper": "class Keeper < Store::Base"},
        {"App.Core.Keeper": "Keeps rows.", "App.Core.Keeper.open": "Opens one."},
        {},
        {"App.Core.Keeper": ("Store.Base", "Closing")},
    ),
    "php": Sample(
        """<html><?php
namespace App\\Core;
use App\\Store\\Row as Line;
use App\\Text\\{Words, Marks as M};
use function App\\check;
require_once __DIR__ . '/lib/start.php';
const LIMIT = 1;

/** Keeps rows. */
#[Service('/x')]
abstract class Keeper extends Base implements Closing, \\Io\\Sink {
  use Logging;
  const OPEN = 1;
  private int $size = 1;
  /**
   * Adds one.
   */
  public function add(Line $a): Result {
    $this->check();
    log_it(1);
    self::build();
    new Box(1);
    Words::split();
    \\App\\run();
    return fn($x) => $x;
  }
}
interface Closing extends Source { function close(); }
trait Logging { function log() {} }
enum Color: string { case Red = 'r'; function mix() {} }
function top() { $f = function () {}; }
""",
        """constant LIMIT; class Keeper; constant Keeper.OPEN; method Keeper.add; interface Closing; method Closing.close; class Logging
        method Logging.log; enum Color; method Color.mix; function top""",
        "App\\Store\\Row (Line); App\\Text Words=Words Marks=M; App\\check; /lib/start.php",
        """Keeper.add: this.check; Keeper.add: log_it; Keeper.add: self.build; Keeper.add: Box; Keeper.add: Words.split
        Keeper.add: App.run; Keeper.add: Line; Keeper.add: Result; Keeper: Logging""",
        {"Keeper.add": "public function add(Line $a): Result"},
        {"Keeper": "Keeps rows.", "Keeper.add": "Adds one."},
        {"Keeper": ("Service('/x')",)},
        {"Keeper": ("Base", "Closing", "Io.Sink", "Logging"), "Closing": ("Source",)},
    ),
    "kotlin": Sample(
        """package app.core

import app.store.Row as Line
import app.text.*

/** Keeps rows. */
@Service("x")
data class Keeper<T>(val size: Int, row: Line) : Base<T>(1), Closing {
    val name: String get() = "x"

    companion object {
        const val LIMIT = 1
        fun build() = Keeper(1)
    }

    // Adds one.
    @Throws(Broken::class)
    override suspend fun add(a: Line): Result {
        this.check()
        a.next().save { it.touch() }
        fun local() {}
        return Result()
    }

    constructor(z: Int) : this(z, 1) {}

    inner class Inner
}

interface Closing {
    fun close()
}

object Registry : Base() {
    fun all() = 1
}

enum class Color {
    RED, BLUE;
    fun mix() {}
}

fun String.shout(x: Int) = x
fun <T> List<T>.second() {}
typealias Rows = Map<Int, Line>
val top = 1
private const val MAX = 2
""",
        """class Keeper; constant Keeper.LIMIT; method Keeper.build; method Keeper.add; function Keeper.add.local; method Keeper.constructor
        class Keeper.Inner; interface Closing; method Closing.close; class Registry; method Registry.all; enum Color; method Color.mix
        method String.shout; method List.second; type Rows; constant top; constant MAX""",
        "app.store.Row (Line); app.text *=*",
        """Keeper: Base; Keeper.build: Keeper; Keeper.add: this.check; Keeper.add: a.next; Keeper.add: it.touch; Keeper.add: Result
        Keeper.add: Throws; Registry: Base; Rows: Map""",
        {"Keeper.add": "override suspend fun add(a: Line): Result", "String.shout": "fun String.shout(x: Int)"},
        {"Keeper": "Keeps rows.", "Keeper.add": "Adds one."},
        {"Keeper": ('Service("x")',), "Keeper.add": ("Throws(Broken::class)",)},
        {"Keeper": ("Base", "Closing"), "Registry": ("Base",)},
    ),
    "swift": Sample(
        """import Foundation
import struct App.Row

/// Keeps rows.
@objc public class Keeper<T>: Base, Closing where T: Source {
  let size: Int = 1
  init(a: Int) { super.init() }
  deinit {}
  // Adds one.
  @discardableResult
  func add(_ a: Row) -> Result { self.check(); log(1) { $0.touch() }; a?.next()?.save(); return Result(x: 1) }
  subscript(i: Int) -> Int { 1 }
}
struct Pair: Closing { func sum() {} }
protocol Closing: Source { func close() }
enum Color: Int { case red, blue; func mix() {} }
extension Keeper.Inner: Sink { func flush() {} }
extension Pair { func more() {} }
actor Worker { }
public typealias Rows = Int
let limit = 1
func top() {}
""",
        """class Keeper; method Keeper.init; method Keeper.deinit; method Keeper.add; method Keeper.subscript; class Pair; method Pair.sum
        interface Closing; method Closing.close; enum Color; method Color.mix; method Keeper.Inner.flush; method Pair.more; class Worker
        type Rows; constant limit; function top""",
        "Foundation; App.Row",
        """Keeper: Base; Keeper.init: super.init; Keeper.add: self.check; Keeper.add: log; Keeper.add: $0.touch; Keeper.add: a.next
        Keeper.add: Result; Keeper.add: Row; Pair: Closing""",
        {"Keeper.add": "func add(_ a: Row) -> Result", "Keeper": "public class Keeper<T>: Base, Closing where T: Source"},
        {"Keeper": "Keeps rows.", "Keeper.add": "Adds one."},
        {"Keeper": ("objc",), "Keeper.add": ("discardableResult",)},
        {"Keeper": ("Base", "Closing"), "Closing": ("Source",), "Color": ("Int",)},
    ),
    "scala": Sample(
        """package app.core
import app.store.{Row, Rows => Lines, _}
import app.text.Words
import app.all.*

/** Keeps rows. */
@service case class Keeper[T](size: Int) extends Base[T](1) with Closing {
  val name = "x"
  // Adds one.
  def add(a: Row): Result = { this.check(); log(1); a.next.save(2); new Box(1); a map touch; def local = 1; Result(1) }
  type Key = Int
}
object Registry extends App { def all = 1; val LIMIT = 1 }
trait Closing { def close: Unit }
enum Color { case Red, Blue; def mix = 1 }
given Ordering: Compare with { def least = 1 }
extension (s: String) def shout = s.length
def top(x: Int) = x
val MAX = 1
""",
        """class Keeper; method Keeper.add; function Keeper.add.local; type Keeper.Key; class Registry; method Registry.all
        constant Registry.LIMIT; class Closing; method Closing.close; enum Color; method Color.mix; class Ordering; method Ordering.least
        method String.shout; function top; constant MAX""",
        "app.store Row=Row Rows=Lines *=*; app.text.Words; app.all *=*",
        """Keeper: Base; Keeper.add: this.check; Keeper.add: log; Keeper.add: a.next.save; Keeper.add: Box; Keeper.add: a.map
        Keeper.add: Result; Keeper.add: Row; Registry: App""",
        {"Keeper.add": "def add(a: Row): Result", "Keeper": "case class Keeper[T](size: Int) extends Base[T](1) with Closing"},
        {"Keeper": "Keeps rows.", "Keeper.add": "Adds one."},
        {"Keeper": ("service",)},
        {"Keeper": ("Base", "Closing"), "Registry": ("App",)},
    ),
    "shell": Sample(
        """#!/bin/bash
source ./lib.sh
. "$DIR/more.sh"
LIMIT=1
readonly LEAST=2
export HOME_DIR=3
quiet=1

# Builds it.
# All of it.
build() {
  compile "$1" | tee log
  local x=$(version)
}
function deploy { build; }
deploy now
""",
        "constant LIMIT; constant LEAST; constant HOME_DIR; function build; function deploy",
        "./lib.sh; $DIR/more.sh",
        "build: compile; build: tee; build: version; deploy: build; : deploy",
        {"build": "build()", "LEAST": "readonly LEAST=2"},
        {"build": "Builds it.\nAll of it."},
        {},
        {},
    ),
}


def entries(table: str) -> list[str]:
    return [entry.strip() for line in table.splitlines() for entry in line.split(";") if entry.strip()]


def imported(found: Outline) -> list[str]:
    lines = []
    for each in found.imports:
        names = "".join(f" {there}={here}" for there, here in each.names)
        lines.append(each.module + names + (f" ({each.alias})" if each.alias else ""))
    return lines


def used(found: Outline) -> set[str]:
    return {f"{each.within}: {f'{each.receiver}.' if each.receiver else ''}{each.name}" for each in found.uses}


def test_every_language_has_a_sample() -> None:
    assert set(SAMPLES) == set(GRAMMARS)


@pytest.mark.parametrize("newline", ["\n", "\r\n", "\r"], ids=["lf", "crlf", "cr"])
@pytest.mark.parametrize("language", SAMPLES)
def test_definitions_imports_and_uses(language: str, newline: str) -> None:
    sample = SAMPLES[language]
    found = outline(sample.code.replace("\n", newline), language)
    assert not found.is_broken
    assert [f"{each.kind} {each.qualified}" for each in found.definitions] == entries(sample.definitions)
    assert imported(found) == entries(sample.imports)
    assert set(entries(sample.uses)) <= used(found), sorted(used(found))


# fmt: off
IMPORTS = [
    ("javascript", 'import d from "./data.json" with { type: "json" }', ["./data.json default=d"]),
    ("javascript", 'import { a as b } from "./data.json" assert { type: "json" };', ["./data.json a=b"]),
    ("javascript", 'import "./side.css" with { type: "css" };', ["./side.css"]),
    ("typescript", 'import type { A } from "./a" with { "resolution-mode": "import" };', ["./a A=A"]),
    ("javascript", 'import("./lazy.json", { with: { type: "json" } })', ["./lazy.json"]),
    ("javascript", 'const e = require("./a").b', ["./a b=e"]),
    ("javascript", 'const a = require("./a"), b = require("./b").default;', ["./a (a)", "./b default=b"]),
    ("javascript", 'const { c, d } = require("./a").b', ["./a"]),
    ("javascript", 'const deep = require("./a").b.c', ["./a"]),
    ("javascript", 'const { a: { b } } = require("./a")', ["./a"]),
    ("javascript", 'require("debug")("x")', ["debug"]),
    ("javascript", 'module.exports = require("./a");\napp.use(require("./b"))', ["./a", "./b"]),
    ("typescript", 'const a: Kind = require("./a")', ["./a (a)"]),
    ("javascript", 'const a = other("./a").b; describe("./c", () => {})', []),
    ("python", "from a import b, \\\r\n    c\r\n", ["a b=b c=c"]),
    ("python", "from a import \\\nb\n", ["a b=b"]),
    ("shell", 'source "$(dirname "$0")/lib.sh"\n', ["$(dirname $0)/lib.sh"]),
    ("shell", '. "${BASH_SOURCE%/*}"/../lib.sh --quiet "$(run)"\n', ["${BASH_SOURCE%/*}/../lib.sh"]),
    ("shell", "source 'my lib.sh'; go\n", ["my lib.sh"]),
]
# fmt: on


@pytest.mark.parametrize(("language", "code", "expected"), IMPORTS, ids=[code for _, code, _ in IMPORTS])
def test_imports_in_all_the_ways_they_are_written(language: str, code: str, expected: list[str]) -> None:
    assert imported(outline(code, language)) == expected


def test_what_a_module_is_called_with_at_once_is_read_as_all_else() -> None:
    found = outline('const server = require("http").createServer(() => { go() })\nconst log = require("debug")("x")\n', "javascript")
    assert imported(found) == ["http", "debug"]
    assert [each.qualified for each in found.definitions] == ["server", "log"]
    assert used(found) == {"server: ().createServer", "server: go"}


@pytest.mark.parametrize("language", SAMPLES)
def test_what_is_said_of_definitions(language: str) -> None:
    sample = SAMPLES[language]
    first = {each.qualified: each for each in reversed(outline(sample.code, language).definitions)}
    assert {name: first[name].signature for name in sample.signatures} == sample.signatures
    assert {name: first[name].doc for name in sample.docs} == sample.docs
    assert {name: each.decorators for name, each in first.items() if each.decorators and name in sample.decorators} == sample.decorators
    assert {name: first[name].bases for name in sample.bases} == sample.bases


@pytest.mark.parametrize("language", SAMPLES)
def test_places_agree_with_the_text(language: str) -> None:
    text = SAMPLES[language].code
    found = outline(text, language)
    starts = [each.start for each in found.definitions]
    assert starts == sorted(starts)
    names = {each.qualified for each in found.definitions}
    for each in found.definitions:
        whole, header = text[each.start : each.end], text[each.start : each.body]
        assert whole == whole.strip()
        assert each.name.split(".")[-1] in text[each.start : each.end]
        assert each.line_start == 1 + text.count("\n", 0, each.start)
        assert each.line_end == 1 + text.count("\n", 0, each.end)
        assert header == whole or not text[each.body].isspace()
        if each.doc:
            assert each.doc.split("\n")[0] in header
        if each.parent is not None:
            assert each.qualified.startswith(f"{each.parent}.")
        assert each.parent is None or each.parent in names or each.parent in ("Keeper", "Keeper.Inner", "String", "List")
    assert unpack(found.pack()) == found


def test_characters_are_counted_and_not_bytes() -> None:
    text = '名 = "é🙂"\n\n\n# über\ndef grüße(x):\n    """Sagt „hallo“."""\n    return ß(x)\n'
    found = outline(text, "python")
    assert [(each.name, text[each.start : each.end]) for each in found.definitions] == [("名", text[:8]), ("grüße", text[11:-1])]
    assert [(each.name, each.within) for each in found.uses] == [("ß", "grüße")]
    assert found.definitions[1].doc == "Sagt „hallo“."
