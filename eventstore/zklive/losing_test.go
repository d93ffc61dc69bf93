package zklive_test

import (
	"cmp"
	"encoding/binary"
	"fmt"
	"io"
	"net"
	"os"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
)

// fate is what becomes of a write that a client sends, and of the connection.
type fate int

const (
	arrives fate = iota
	losesAnswer
	losesRequest
)

// loser is a proxy to the test's ZooKeeper. Of each kind of write the first ones meet
// the fates it was made with, all others pass.
type loser struct {
	t     testing.TB
	ln    net.Listener
	root  string
	fates []fate

	mu     sync.Mutex
	tries  map[string]int
	asks   int            // requests so far, pings aside
	lists  map[string]int // how often a node's children were listed
	heard  []string       // the requests, pings aside
	bytes  int            // of requests and answers so far, pings aside
	first  func(string)   // is called with each request before it is passed on, nil = nothing is
	spare  string         // what it lets pass, "" = nothing
	keep   string         // the kind of write whose next answer it keeps for a while, "" = none
	kept   chan struct{}  // closed when it keeps one
	free   chan struct{}  // closed when it hands that on
	delay  string         // the kind of write of which the next is kept in place of its answer, "" = none
	passed chan struct{}  // closed when it has handed that write on
	mute   string         // news of watched nodes that say so are kept, "" = none
	told   chan struct{}  // closed when it hands these on
	all    sync.WaitGroup
	conns  []net.Conn
}

func newLoser(t testing.TB, root string, fates ...fate) *loser {
	t.Helper()
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	l := &loser{t: t, ln: ln, root: root, fates: fates, tries: map[string]int{}, lists: map[string]int{}}
	l.all.Go(l.serve)
	t.Cleanup(func() {
		_ = ln.Close()
		l.mu.Lock()
		for _, c := range l.conns {
			_ = c.Close()
		}
		l.mu.Unlock()
		l.all.Wait()
	})
	return l
}

// addresses are two names of one door: with a single one the client would wait a
// second before it connects again.
func (l *loser) addresses() []string {
	return []string{l.ln.Addr().String(), l.ln.Addr().String()}
}

func (l *loser) serve() {
	for {
		client, err := l.ln.Accept()
		if err != nil {
			return
		}
		server, err := net.Dial("tcp", os.Getenv("ACCESSION_TEST_ZOOKEEPER"))
		if err != nil {
			_ = client.Close()
			continue
		}
		l.mu.Lock()
		l.conns = append(l.conns, client, server)
		l.mu.Unlock()
		w := &wire{loser: l, client: client, silent: map[int32]bool{}}
		l.all.Go(func() { w.pass(client, server, w.asked) })
		l.all.Go(func() { w.pass(server, client, w.answered) })
	}
}

// met gives the kinds of write of which all fates were met.
func (l *loser) met() (kinds []string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for kind, n := range l.tries {
		if n >= len(l.fates) {
			kinds = append(kinds, kind)
		}
	}
	slices.Sort(kinds)
	return kinds
}

// spares lets kinds pass that say so, instead of those before; "" = none.
func (l *loser) spares(what string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.spare = what
}

// takes reports whether the answer to a write is the one to keep.
func (l *loser) takes(kind string) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.keep == "" || !strings.Contains(kind, l.keep) {
		return false
	}
	l.keep = ""
	return true
}

func (l *loser) fate(kind string) fate {
	l.mu.Lock()
	defer l.mu.Unlock()
	if kind == "" || l.spare != "" && strings.Contains(kind, l.spare) {
		return arrives
	}
	n := l.tries[kind]
	l.tries[kind]++
	if n < len(l.fates) {
		return l.fates[n]
	}
	return arrives
}

// keeps lets the answer to the next write that says so wait, while others pass, until
// the returned function is called; kept is closed when there is one.
func (l *loser) keeps(what string) (kept <-chan struct{}, handOn func()) {
	l.mu.Lock()
	defer l.mu.Unlock()
	free := make(chan struct{})
	l.keep, l.kept, l.free = what, make(chan struct{}), free
	return l.kept, sync.OnceFunc(func() { close(free) })
}

// delays lets the next write that says so wait, while later requests pass, until the returned
// function hands it on; kept is closed when there is one.
func (l *loser) delays(what string) (kept <-chan struct{}, handOn func()) {
	kept, free := l.keeps("")
	l.mu.Lock()
	defer l.mu.Unlock()
	passed := make(chan struct{})
	l.delay, l.passed = what, passed
	return kept, func() { free(); <-passed }
}

// mutes lets the news of watched nodes that say so wait until the returned function is called.
func (l *loser) mutes(what string) (handOn func()) {
	l.mu.Lock()
	defer l.mu.Unlock()
	told := make(chan struct{})
	l.mute, l.told = what, told
	return func() {
		l.mu.Lock()
		defer l.mu.Unlock()
		l.mute = ""
		close(told)
	}
}

// wire is one connection.
type wire struct {
	*loser
	client net.Conn
	mu     sync.Mutex
	silent map[int32]bool // requests whose answers get lost
	late   int32          // the request whose answer is kept, 0 = none
	writes sync.Mutex
}

func (w *wire) write(to net.Conn, frame []byte) error {
	w.writes.Lock()
	defer w.writes.Unlock()
	_, err := to.Write(slices.Concat(binary.BigEndian.AppendUint32(nil, uint32(len(frame))), frame))
	return err
}

// keepsAnswer reports whether a frame is the answer that is kept, and sees to it.
func (w *wire) keepsAnswer(frame []byte) bool {
	xid := (&requestText{frame}).number()
	w.mu.Lock()
	defer w.mu.Unlock()
	if xid == 0 || xid != w.late {
		return false
	}
	w.late = 0
	w.loser.mu.Lock()
	kept, free := w.kept, w.free
	w.loser.mu.Unlock()
	close(kept)
	w.all.Go(func() {
		<-free
		_ = w.write(w.client, frame)
	})
	return true
}

// keepsWrite reports whether a frame is the write that is kept, and sees to it.
func (w *wire) keepsWrite(server net.Conn, frame []byte) bool {
	p := requestText{frame}
	_ = p.number()
	kind := kindOf(w.root, p.number(), p)
	w.loser.mu.Lock()
	defer w.loser.mu.Unlock()
	if w.delay == "" || !strings.Contains(kind, w.delay) {
		return false
	}
	w.delay = ""
	close(w.kept)
	free, passed := w.free, w.passed
	w.all.Go(func() {
		<-free
		_ = w.write(server, frame)
		close(passed)
	})
	return true
}

// keepsNews reports whether a frame is news that are kept, and sees to it.
func (w *wire) keepsNews(frame []byte) bool {
	const ofNode = 20 // bytes between the number of a frame and the name of the node
	p := &requestText{frame}
	if p.number() != -1 || len(p.left) < ofNode {
		return false
	}
	p.left = p.left[ofNode:]
	w.loser.mu.Lock()
	mute, told := w.mute, w.told
	w.loser.mu.Unlock()
	if mute == "" || !strings.Contains(p.bytes(), mute) {
		return false
	}
	w.all.Go(func() {
		<-told
		_ = w.write(w.client, frame)
	})
	return true
}

// pass hands on frames until one of the two ends, or goes says no. The first frame
// of either side is the handshake.
func (w *wire) pass(from, to net.Conn, goes func(frame []byte) bool) {
	defer func() { _ = from.Close(); _ = to.Close() }()
	for first := true; ; first = false {
		head := make([]byte, 4)
		if _, err := io.ReadFull(from, head); err != nil {
			return
		}
		frame := make([]byte, binary.BigEndian.Uint32(head))
		if _, err := io.ReadFull(from, frame); err != nil {
			return
		}
		if !first && !goes(frame) {
			return
		}
		if !first && (to == w.client && (w.keepsAnswer(frame) || w.keepsNews(frame)) || to != w.client && w.keepsWrite(to, frame)) {
			continue
		}
		if w.write(to, frame) != nil {
			return
		}
	}
}

func (w *wire) asked(frame []byte) bool {
	p := requestText{frame}
	xid, op := p.number(), p.number()
	w.count(op, p)
	w.ahead(op, p)
	if w.takes(kindOf(w.root, op, p)) {
		w.mu.Lock()
		w.late = xid
		w.mu.Unlock()
	}
	switch w.fate(kindOf(w.root, op, p)) {
	case losesRequest:
		return false
	case losesAnswer:
		w.mu.Lock()
		w.silent[xid] = true
		w.mu.Unlock()
	}
	return true
}

// count counts a request.
func (l *loser) count(op int32, p requestText) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if op != opPing {
		l.asks++
		l.heard = append(l.heard, textOf(l.root, op, p))
		l.bytes += len(p.left)
	}
	if op == opChildren || op == opChildren2 {
		l.lists[strings.TrimPrefix(p.bytes(), l.root)]++
	}
}

// before lets first run ahead of each request.
func (l *loser) before(first func(request string)) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.first = first
}

func (l *loser) ahead(op int32, p requestText) {
	l.mu.Lock()
	first := l.first
	l.mu.Unlock()
	if first != nil && op != opPing {
		first(textOf(l.root, op, p))
	}
}

// hears returns the requests that are made while do runs.
func (l *loser) hears(do func()) []string {
	l.mu.Lock()
	before := len(l.heard)
	l.mu.Unlock()
	do()
	l.mu.Lock()
	defer l.mu.Unlock()
	return slices.Clone(l.heard[before:])
}

// carries returns how many bytes requests and answers have while do runs.
func (l *loser) carries(do func()) int {
	l.mu.Lock()
	before := l.bytes
	l.mu.Unlock()
	do()
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.bytes - before
}

// textOf returns a request as one line: a write as its operations.
func textOf(root string, op int32, p requestText) string {
	switch {
	case op == opMulti:
		return strings.Join(operations(root, p), ", ")
	case verbs[op] != "":
		return one(root, op, &p)
	}
	return cmp.Or(reads[op], fmt.Sprint("request ", op)) + " " + someNode(root, p.bytes())
}

// counted gives how many requests there were, and listings of a node's children.
func (l *loser) counted(node string) (asks, lists int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.asks, l.lists[node]
}

func (w *wire) answered(frame []byte) bool {
	xid := (&requestText{frame}).number()
	if xid > 0 {
		w.loser.mu.Lock()
		w.bytes += len(frame)
		w.loser.mu.Unlock()
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	return !w.silent[xid]
}

// requestText reads a request as ZooKeeper's clients write it.
type requestText struct{ left []byte }

func (p *requestText) number() int32 {
	if len(p.left) < 4 {
		p.left = nil
		return 0
	}
	n := int32(binary.BigEndian.Uint32(p.left))
	p.left = p.left[4:]
	return n
}

func (p *requestText) bytes() string {
	n := min(max(int(p.number()), 0), len(p.left))
	b := string(p.left[:n])
	p.left = p.left[n:]
	return b
}

// Operations of ZooKeeper's protocol.
const (
	opCreate, opDelete, opSet, opCheck, opMulti = 1, 2, 5, 13, 14
	opExists, opGet                             = 3, 4
	opChildren, opPing, opChildren2             = 8, 11, 12
)

var reads = map[int32]string{opExists: "exists", opGet: "get", opChildren: "list", opChildren2: "list"}

var verbs = map[int32]string{opCreate: "create", opDelete: "delete", opSet: "set", opCheck: "check"}

// kindOf names a write by what it does to which sort of node, "" = it is none. That
// it does the same to several is said once.
func kindOf(root string, op int32, p requestText) string {
	if op != opMulti {
		if verbs[op] == "" {
			return ""
		}
		return one(root, op, &p)
	}
	var ops []string
	many := ""
	for _, said := range operations(root, p) {
		if slices.Contains(ops, said) {
			many = "many: "
		} else {
			ops = append(ops, said)
		}
	}
	return many + strings.Join(ops, ", ")
}

// operations returns those of a multi.
func operations(root string, p requestText) (ops []string) {
	for {
		op := p.number()
		if len(p.left) < 5 || op < 0 {
			return ops
		}
		p.left = p.left[5:] // whether it is the end, and no error
		ops = append(ops, one(root, op, &p))
	}
}

var someNames = regexp.MustCompile(`[0-9a-f]{8}-[0-9a-f-]{27}|(\d\d-)?jid\d{10}|bid\d{10}|b\d{10}|e-\d*|\b\d\d\b`)

// one reads an operation to its end.
func one(root string, op int32, p *requestText) string {
	path := p.bytes()
	switch op {
	case opCreate:
		p.bytes()
		for range p.number() {
			p.number()
			p.bytes()
			p.bytes()
		}
		p.number()
	case opSet:
		p.bytes()
		p.number()
	case opDelete, opCheck:
		p.number()
	}
	return verbs[op] + " " + someNode(root, path)
}

// someNode returns a path with sorts of names in place of names.
func someNode(root, path string) string {
	return someNames.ReplaceAllStringFunc(cmp.Or(strings.TrimPrefix(path, root), "/"), func(s string) string {
		switch {
		case len(s) > 30: // first: it may begin with a b
			return "W"
		case strings.Contains(s, "jid"):
			return "JID"
		case strings.HasPrefix(s, "bid"):
			return "BID"
		case strings.HasPrefix(s, "b"), strings.HasPrefix(s, "e-"):
			return s[:1]
		}
		return "NN"
	})
}
