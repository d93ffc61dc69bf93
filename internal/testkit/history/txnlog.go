package history

import (
	"bufio"
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/adler32"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
)

// Kind is what an operation did.
type Kind int32

// The operations that matter here, by ZooKeeper's numbers.
const (
	Create       Kind = 1
	Delete       Kind = 2
	SetData      Kind = 5
	CloseSession Kind = -11
)

const (
	create2   = 15
	multi     = 14
	failed    = -1
	magic     = 0x5a4b4c47 // ZKLG
	headBytes = 16
	maxRecord = 64 << 20
)

// Op is one operation of a write. Path is below the root that was asked for.
type Op struct {
	Kind      Kind
	Path      string
	Data      []byte
	Ephemeral bool
}

// Write is one transaction that was carried out: all of it at once.
type Write struct {
	Zxid    int64
	Session int64
	Ops     []Op
}

// ReadLog returns the transactions after one and up to another that touch a root, in
// order, and every end of a session. dir is where the server keeps its log; it may go
// on writing there. That something is missing between the two is an error.
func ReadLog(dir, root string, after, upTo int64, visit func(Write)) error {
	files, err := logFiles(dir)
	if err != nil {
		return err
	}
	last := after
	for i, f := range files {
		if i+1 < len(files) && files[i+1].first <= after+1 {
			continue
		}
		if last, err = readFile(f.path, root, last, upTo, visit); err != nil {
			return err
		}
	}
	if last < upTo {
		return fmt.Errorf("%s: the log ends at %#x, before %#x", dir, last, upTo)
	}
	return nil
}

// readFile returns the transactions of one file, and the last that it has.
func readFile(path, root string, last, upTo int64, visit func(Write)) (int64, error) {
	f, err := os.Open(path)
	if err != nil {
		return last, err
	}
	defer f.Close() //nolint:errcheck // only read
	in := bufio.NewReaderSize(f, 1<<20)
	head := make([]byte, headBytes)
	if _, err := io.ReadFull(in, head); err != nil || binary.BigEndian.Uint32(head) != magic {
		return last, nil //nolint:nilerr // begun, and not written yet
	}
	for {
		record := next(in)
		if record == nil {
			return last, nil // what follows was never finished, or is being written
		}
		zxid := int64(binary.BigEndian.Uint64(record[12:]))
		if zxid <= last || zxid > upTo {
			continue
		}
		if zxid != last+1 {
			return last, fmt.Errorf("%s: %#x follows %#x: transactions are missing", path, zxid, last)
		}
		last = zxid
		w, err := parse(record, root)
		if err != nil {
			return last, fmt.Errorf("%s: transaction %#x: %w", path, zxid, err)
		}
		if len(w.Ops) > 0 {
			visit(w)
		}
	}
}

type logFile struct {
	path  string
	first int64 // zxid
}

func logFiles(dir string) (files []logFile, err error) {
	names, err := filepath.Glob(filepath.Join(dir, "log.*"))
	if err != nil {
		return nil, err
	}
	for _, name := range names {
		first, err := strconv.ParseInt(strings.TrimPrefix(filepath.Ext(name), "."), 16, 64)
		if err != nil {
			return nil, err
		}
		files = append(files, logFile{name, first})
	}
	if len(files) == 0 {
		return nil, errors.New("no transaction log in " + dir)
	}
	slices.SortFunc(files, func(a, b logFile) int { return int(a.first - b.first) })
	return files, nil
}

// next reads a record: checksum, length, bytes, and a B at its end; nil = there is no
// whole one.
func next(in *bufio.Reader) []byte {
	var head [12]byte
	if _, err := io.ReadFull(in, head[:]); err != nil {
		return nil
	}
	sum, n := binary.BigEndian.Uint64(head[:]), int32(binary.BigEndian.Uint32(head[8:]))
	if n < 32 || n > maxRecord {
		return nil
	}
	record := make([]byte, n+1)
	if _, err := io.ReadFull(in, record); err != nil || record[n] != 'B' || uint64(adler32.Checksum(record[:n])) != sum {
		return nil
	}
	return record[:n]
}

// parse reads a record's header (session, number, zxid, time, kind) and what of its
// operations is below the root.
func parse(record []byte, root string) (w Write, err error) {
	r := &reader{b: record}
	w.Session = r.long()
	r.int()
	w.Zxid = r.long()
	r.long()
	kind := r.int()
	switch {
	case kind == int32(CloseSession):
		w.Ops = []Op{{Kind: CloseSession}}
	case !bytes.Contains(record, []byte(root)):
	case kind == multi:
		for range r.int() {
			kind := r.int()
			if kind == failed {
				return Write{}, r.err // then none was carried out
			}
			w.add(kind, &reader{b: r.bytes()}, root)
		}
	default:
		w.add(kind, r, root)
	}
	return w, r.err
}

func (w *Write) add(kind int32, r *reader, root string) {
	op := Op{Kind: Kind(kind)}
	switch kind {
	case int32(Create), create2:
		op.Kind, op.Path, op.Data = Create, string(r.bytes()), r.bytes()
		for range r.int() { // who may do what
			r.int()
			r.bytes()
			r.bytes()
		}
		op.Ephemeral = r.byte() != 0
	case int32(Delete):
		op.Path = string(r.bytes())
	case int32(SetData):
		op.Path, op.Data = string(r.bytes()), r.bytes()
	default:
		return
	}
	if below, is := strings.CutPrefix(op.Path, root); is {
		op.Path = below
		w.Ops = append(w.Ops, op)
	}
}

// reader reads ZooKeeper's own encoding: big-endian numbers, lengths before bytes.
type reader struct {
	b   []byte
	err error
}

func (r *reader) take(n int) []byte {
	if n < 0 || n > len(r.b) {
		r.b, r.err = nil, errors.New("it is too short")
		return make([]byte, max(n, 8))
	}
	part := r.b[:n]
	r.b = r.b[n:]
	return part
}

func (r *reader) byte() byte  { return r.take(1)[0] }
func (r *reader) int() int32  { return int32(binary.BigEndian.Uint32(r.take(4))) }
func (r *reader) long() int64 { return int64(binary.BigEndian.Uint64(r.take(8))) }

func (r *reader) bytes() []byte {
	n := r.int()
	if n < 0 || r.err != nil {
		return nil
	}
	return r.take(int(n))
}
