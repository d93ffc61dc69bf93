package drop

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"iter"
	"slices"
	"strings"
	"time"

	"github.com/google/uuid"
)

// All returns the deposits in the folder in the order of their reception. What comes or
// goes meanwhile may be left out. A deposit that cannot be read is an error that names it,
// after which the next one comes.
func (f *Folder) All(ctx context.Context) iter.Seq2[Deposit, error] {
	return func(yield func(Deposit, error) bool) {
		dirs, err := f.dirs()
		if err != nil {
			yield(Deposit{}, err)
			return
		}
		for _, at := range dirs {
			if ctx.Err() != nil {
				yield(Deposit{}, ctx.Err())
				return
			}
			d, err := f.read(at)
			if errors.Is(err, fs.ErrNotExist) {
				continue
			}
			if !yield(d, err) {
				return
			}
		}
	}
}

// AllRemoved returns the deposits that operators have removed, in the order of their
// reception.
func (f *Folder) AllRemoved() (all []Removed, err error) {
	if f == nil {
		return nil, nil
	}
	names, err := f.root.list(removedIn)
	slices.Sort(names)
	for _, name := range names {
		r, readErr := f.Removed(strings.TrimSuffix(name, ".json"))
		if err = errors.Join(err, readErr); readErr == nil {
			all = append(all, r)
		}
	}
	return all, err
}

// Find returns the deposit of an id, or ErrNotFound.
func (f *Folder) Find(id string) (d Deposit, err error) {
	dirs, err := f.dirs()
	for _, at := range dirs {
		if idOf(at) == id {
			return f.read(at)
		}
	}
	if err == nil {
		err = fmt.Errorf("%s: %w", id, ErrNotFound)
	}
	return d, err
}

// Status says how much is in the folder.
type Status struct {
	Deposits int       `json:"deposits"`
	Oldest   time.Time `json:"oldest,omitzero"` // when the first of them was received
}

// Status counts what is in the folder, without reading it.
func (f *Folder) Status() (s Status, err error) {
	dirs, err := f.dirs()
	s.Deposits = len(dirs)
	if len(dirs) > 0 {
		if id, err := uuid.Parse(idOf(dirs[0])); err == nil && id.Version() == 7 {
			sec, nsec := id.Time().UnixTime()
			s.Oldest = time.Unix(sec, nsec).UTC()
		}
	}
	return s, err
}

// CountOf counts the deposits of a user.
func (f *Folder) CountOf(user string) (int, error) {
	if f == nil {
		return 0, nil
	}
	ids, err := f.root.list(userDir(user))
	return len(ids), err
}

// dirs returns the directories of the deposits, in the order of their ids.
func (f *Folder) dirs() (all []string, err error) {
	if f == nil {
		return nil, nil
	}
	users, err := f.root.list(".")
	for _, user := range users {
		if !strings.HasPrefix(user, "user-") {
			continue
		}
		ids, listErr := f.root.list(user)
		err = errors.Join(err, listErr)
		for _, id := range ids {
			all = append(all, user+"/"+id)
		}
	}
	slices.SortFunc(all, func(a, b string) int { return strings.Compare(idOf(a), idOf(b)) })
	return all, err
}

func idOf(at string) string { return at[strings.LastIndexByte(at, '/')+1:] }

// noted reads what is noted of a deposit, if it is.
func (f *Folder) noted(at string, v any) error {
	data, err := f.root.ReadFile(at)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return errors.Join(err, json.Unmarshal(data, v))
}

// read reads a deposit, and why it was refused.
func (f *Folder) read(at string) (d Deposit, err error) {
	data, err := f.root.ReadFile(at + "/" + depositIn)
	if err == nil {
		err = json.Unmarshal(data, &d)
	}
	if err == nil && d.dir() != at {
		err = fmt.Errorf("it is the deposit %s of %s", d.ID, d.Submitter)
	}
	if err == nil {
		err = errors.Join(f.noted(at+"/"+refusedIn, &d.Refused), f.noted(at+"/"+retriedIn, &d.Retried))
	}
	if r := d.Refused; r != nil && r.Version > 0 && d.Retried != nil && d.Retried.Version > r.Version {
		d.Refused = nil // the process that let it in again died before it removed the refusal
	}
	if err != nil {
		return d, fmt.Errorf("%s/%s: %w", f.path, at, err)
	}
	return d, nil
}
