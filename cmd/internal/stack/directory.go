package stack

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"syscall"
	"time"

	"github.com/google/uuid"
)

const stateFile = "stack.json"

// state is what stack.json keeps.
type state struct {
	ID        string                 `json:"id"` // of the directory's data; new when the file is
	Addresses Addresses              `json:"addresses"`
	Ports     map[Server]int         `json:"ports"`
	Postgres  string                 `json:"postgres_dir,omitempty"` // where its data is
	Password  string                 `json:"password,omitempty"`     // of PostgreSQL and NATS, made at the first start
	Processes map[Server]processInfo `json:"processes,omitempty"`    // those that run
}

// processInfo is a process as noted when it was started.
type processInfo struct {
	PID     int       `json:"pid"`
	Marker  string    `json:"marker"` // its command line holds this
	Started time.Time `json:"started"`
}

// directory is a locked data directory and its state file.
type directory struct {
	path string
	lock *os.File

	mu    sync.Mutex
	state state
}

// openDirectory makes and locks the directory and reads its state.
func openDirectory(path string) (*directory, error) {
	if path == "" {
		return nil, errors.New("stack: no data directory given: set Options.Dir")
	}
	abs, err := filepath.Abs(path)
	if err != nil {
		return nil, fmt.Errorf("stack: %w", err)
	}
	// Enterable by others: PostgreSQL may run as another user.
	if err := os.MkdirAll(abs, 0o755); err != nil {
		return nil, fmt.Errorf("stack: %w", err)
	}
	// Processes are recognised by their paths: one spelling for each directory.
	if abs, err = filepath.EvalSymlinks(abs); err != nil {
		return nil, fmt.Errorf("stack: %w", err)
	}
	if err := trustDirectory(abs); err != nil {
		return nil, err
	}
	lock, err := os.OpenFile(filepath.Join(abs, "lock"), os.O_CREATE|os.O_RDWR|syscall.O_NOFOLLOW, 0o600)
	if err != nil {
		return nil, fmt.Errorf("stack: %w", err)
	}
	d := &directory{path: abs, lock: lock}
	if err := syscall.Flock(int(lock.Fd()), syscall.LOCK_EX|syscall.LOCK_NB); err != nil {
		return nil, errors.Join(fmt.Errorf("stack: %s: %w: stop it, or choose another directory", abs, ErrLocked), lock.Close())
	}
	if err := d.load(); err != nil {
		return nil, errors.Join(err, d.close())
	}
	return d, nil
}

func (d *directory) load() (err error) {
	d.state, err = readState(d.path)
	if errors.Is(err, os.ErrNotExist) {
		d.state, err = state{ID: uuid.NewString()}, nil
	}
	if d.state.Processes == nil {
		d.state.Processes = map[Server]processInfo{}
	}
	if d.state.Password == "" {
		d.state.Password = rand.Text() // written before a server gets it
	}
	return err
}

// readState reads a directory's state, of which nothing is used that another user could
// have written, nor what it names outside the directory.
func readState(dir string) (state, error) {
	st, err := parseState(dir)
	if err != nil {
		return state{}, err
	}
	// Processes are noted with the directory's real path, which is checked too.
	if dir, err = filepath.EvalSymlinks(dir); err == nil {
		dir, err = filepath.Abs(dir)
	}
	if err == nil {
		err = trustDirectory(dir)
	}
	if err == nil {
		err = st.checkPostgres(dir)
	}
	if err != nil {
		return state{}, err
	}
	return st, nil
}

func parseState(dir string) (state, error) {
	file := filepath.Join(dir, stateFile)
	data, err := readTrusted(file)
	if err != nil {
		return state{}, fmt.Errorf("stack: %w", err)
	}
	var st state
	err = json.Unmarshal(data, &st)
	if err == nil && st.ID == "" {
		err = errors.New("it holds no id")
	}
	if err != nil {
		return state{}, fmt.Errorf("stack: %s is damaged: remove the directory to begin again: %w", file, err)
	}
	return st, nil
}

// update changes the state and writes it whole: a crash leaves the old file or the
// new one.
func (d *directory) update(change func(*state)) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	change(&d.state)
	file := filepath.Join(d.path, stateFile)
	data, err := json.MarshalIndent(d.state, "", "  ")
	if err == nil {
		err = errors.Join(os.RemoveAll(file+".new"), os.WriteFile(file+".new", append(data, '\n'), 0o600)) // passwords are in it
	}
	if err == nil {
		err = os.Rename(file+".new", file)
	}
	if err != nil {
		return fmt.Errorf("stack: %w", err)
	}
	return nil
}

func (d *directory) addProcess(name Server, p processInfo) error {
	return d.update(func(st *state) { st.Processes[name] = p })
}

func (d *directory) removeProcess(name Server) error {
	return d.update(func(st *state) { delete(st.Processes, name) })
}

// endLeftovers ends what an earlier stack in this directory left running.
func (d *directory) endLeftovers(ctx context.Context) error {
	for name, r := range d.state.Processes {
		children := descendants(r.PID)
		leftover := orphan{pid: r.PID, line: r.Marker}
		if !leftover.alive() {
			children = nil // the id belongs to another process now
		}
		err := leftover.end(ctx, syscall.SIGINT)
		if err == nil {
			err = endAll(ctx, children, syscall.SIGKILL)
		}
		if err == nil {
			err = d.removeProcess(name)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// close frees the directory.
func (d *directory) close() error {
	// A child that is just being started may have a copy of the file.
	_ = syscall.Flock(int(d.lock.Fd()), syscall.LOCK_UN)
	if err := d.lock.Close(); err != nil && !errors.Is(err, os.ErrClosed) {
		return fmt.Errorf("stack: %w", err)
	}
	return nil
}

// Find returns the addresses of the stack that runs in dir, started by whichever
// process; ok is false when none does. The error is a damaged state file.
func Find(dir string) (at Addresses, ok bool, err error) {
	st, err := readState(dir)
	if errors.Is(err, os.ErrNotExist) {
		return Addresses{}, false, nil
	}
	if err != nil {
		return Addresses{}, false, err
	}
	for _, name := range []Server{ZooKeeper, PostgreSQL, NATS} {
		r := st.Processes[name]
		if !(orphan{pid: r.PID, line: r.Marker}).alive() {
			return Addresses{}, false, nil
		}
	}
	return st.Addresses, true, nil
}

// Remove deletes a stack's directory and PostgreSQL's data wherever it is. A
// directory that is not there is no error; one that holds no stack is refused, and
// so, with ErrLocked, is one in which a stack runs.
func Remove(ctx context.Context, dir string) error {
	if _, err := os.Stat(dir); errors.Is(err, os.ErrNotExist) {
		return nil
	}
	if _, err := readState(dir); err != nil {
		return fmt.Errorf("stack: %s is not a stack's data directory, so it is left alone: %w", dir, err)
	}
	d, err := openDirectory(dir)
	if err != nil {
		return err
	}
	defer d.close() //nolint:errcheck // only the lock, of a file that is gone
	if err := d.endLeftovers(ctx); err != nil {
		return err
	}
	if err := errors.Join(os.RemoveAll(d.state.Postgres), os.RemoveAll(d.path)); err != nil {
		return fmt.Errorf("stack: %w", err)
	}
	return nil
}
