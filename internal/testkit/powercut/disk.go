package powercut

import (
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"sync"
	"syscall"
	"time"
)

// ID is the number of a file or directory, for as long as the disk lives.
type ID uint64

// Root is the number of the top directory.
const Root ID = 1

// Disk is a file system in memory. Its methods may be called concurrently; their
// errors are of type syscall.Errno, as a kernel wants them.
type Disk struct {
	mu    sync.Mutex
	next  ID
	nodes map[ID]*node
}

// node is a file, a directory or a symbolic link.
type node struct {
	mode     uint32 // with its type
	uid, gid uint32
	changed  time.Time
	target   string // of a link
	data     content
	opens    int

	names, kept map[string]ID   // of a directory: now, and after a power cut
	unsynced    map[string]bool // names in which the two may differ

	in, keptIn map[place]bool // where it is named, now and after a power cut
}

// place is one name in one directory.
type place struct {
	dir  ID
	name string
}

// New makes an empty disk, whose top directory belongs to uid and gid.
func New(uid, gid uint32) *Disk {
	d := &Disk{next: Root + 1, nodes: map[ID]*node{}}
	d.nodes[Root] = newNode(syscall.S_IFDIR|0o700, uid, gid)
	return d
}

func newNode(mode, uid, gid uint32) *node {
	n := &node{mode: mode, uid: uid, gid: gid, changed: time.Now(), in: map[place]bool{}, keptIn: map[place]bool{}}
	if n.isDir() {
		n.names, n.kept, n.unsynced = map[string]ID{}, map[string]ID{}, map[string]bool{}
	}
	return n
}

func (n *node) isDir() bool { return n.mode&syscall.S_IFMT == syscall.S_IFDIR }

// Load copies a directory of the real disk into the top directory, as something
// that was synced long ago.
func (d *Disk) Load(dir string) error {
	at := map[string]ID{".": Root}
	err := fs.WalkDir(os.DirFS(dir), ".", func(path string, e fs.DirEntry, err error) error {
		if err != nil || path == "." {
			return err
		}
		info, err := e.Info()
		if err != nil {
			return err
		}
		st, ok := info.Sys().(*syscall.Stat_t)
		if !ok || !info.Mode().IsRegular() && !info.IsDir() {
			return fmt.Errorf("%s is neither a file nor a directory", path)
		}
		id, err := d.Make(at[filepath.Dir(path)], e.Name(), st.Mode, st.Uid, st.Gid)
		if err != nil || info.IsDir() {
			at[path] = id
			return err
		}
		text, err := os.ReadFile(filepath.Join(dir, path))
		if err != nil {
			return err
		}
		return d.Write(id, 0, text)
	})
	if err != nil {
		return fmt.Errorf("powercut: load %s: %w", dir, err)
	}
	d.Settle()
	return nil
}

// Sync makes a file or directory durable, as fsync does: content, length, its own
// names; of a directory what is in it, but not the content of its files.
func (d *Disk) Sync(id ID) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	n := d.nodes[id]
	if n == nil {
		return syscall.ENOENT
	}
	n.data.sync()
	for name := range n.unsynced {
		d.keep(place{id, name})
	}
	d.keepNames(id)
	return nil
}

// keepNames makes the names of a node durable, and those of the directories that
// lead there.
func (d *Disk) keepNames(id ID) {
	n := d.nodes[id]
	for p := range union(n.in, n.keptIn) {
		d.keep(p)
	}
	for p := range n.in {
		d.keepNames(p.dir)
	}
}

func union(a, b map[place]bool) map[place]bool {
	all := maps.Clone(a)
	maps.Copy(all, b)
	return all
}

// Settle makes everything durable, as a kernel does that is left alone for a while.
func (d *Disk) Settle() {
	d.mu.Lock()
	defer d.mu.Unlock()
	for id, n := range d.nodes {
		n.data.sync()
		for name := range n.unsynced {
			d.keep(place{id, name})
		}
	}
}

// Cut takes the power away: everything is as it was last synced. No file may be
// open.
func (d *Disk) Cut() {
	d.mu.Lock()
	defer d.mu.Unlock()
	reached := map[ID]*node{}
	for next := []ID{Root}; len(next) > 0; next = next[1:] {
		n := d.nodes[next[0]]
		reached[next[0]] = n
		for _, child := range n.kept {
			if reached[child] == nil {
				next = append(next, child)
			}
		}
	}
	d.nodes = reached
	for _, n := range reached {
		n.data.forget()
		n.opens = 0
		n.in, n.keptIn = map[place]bool{}, map[place]bool{}
		if n.isDir() {
			n.names, n.unsynced = maps.Clone(n.kept), map[string]bool{}
		}
	}
	for id, n := range reached {
		for name, child := range n.names {
			reached[child].in[place{id, name}], reached[child].keptIn[place{id, name}] = true, true
		}
	}
}

// Unsynced is what a cut would lose now: bytes that were written, and names.
func (d *Disk) Unsynced() (bytes int64, names int) {
	d.mu.Lock()
	defer d.mu.Unlock()
	for _, n := range d.nodes {
		bytes += int64(len(n.data.dirty)) * pageSize
		names += len(n.unsynced)
	}
	return bytes, names
}
