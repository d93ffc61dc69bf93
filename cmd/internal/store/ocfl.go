package store

import (
	"bytes"
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path"
	"slices"
	"strings"

	"github.com/accession-ingest/accession/cmd/internal/store/ocfl"
	"github.com/accession-ingest/accession/internal/crash"
)

// Layout says how the files of a version are laid out.
type Layout string

// The layouts. What is stored is found in either, whatever new versions get.
const (
	LayoutOwn  Layout = ""     // below objects/
	LayoutOCFL Layout = "ocfl" // OCFL 1.1, below ocfl/
)

// OCFLPrefix begins the keys of the storage root.
const OCFLPrefix = "ocfl/"

// OCFLRoot returns the root of an object, without a slash at the end.
func OCFLRoot(object string) string { return OCFLPrefix + ocfl.ObjectRoot(object) }

// maxInventory bounds the memory that reading an inventory takes, in bytes.
const maxInventory = 1 << 30

// ocflObject is an object as the inventory of its newest version has it.
type ocflObject struct {
	ocfl.Object
	root string
	// wrong are the files that are not as this inventory wants them, in the order in which
	// they are written.
	wrong []ocfl.File
}

// manifestName returns the name of the storage manifest in the content of a version.
func manifestName(version int) string { return fmt.Sprintf("manifest-v%d.json", version) }

// manifest returns the key of the storage manifest of a version; CodeNotFound if the object
// does not have it. Numbers of OCFL have no holes, and those of jobs that have failed are
// not used again, so that one is not the other.
func (o ocflObject) manifest(version int) (string, error) {
	for p := range o.Paths() {
		parts := strings.SplitN(p, "/", 4)                                                              // version, content, name
		if name, _, _ := strings.Cut(parts[2], "~"); len(parts) == 3 && name == manifestName(version) { // ~: see writeFile
			return o.root + "/" + p, nil
		}
	}
	return "", &Error{Code: CodeNotFound, Op: "find version", Key: o.root, Hint: fmt.Sprintf("it has no version %d", version)}
}

// small reads a small object whole.
func (s *Store) small(ctx context.Context, key string) ([]byte, error) {
	r, err := s.Get(ctx, key)
	if err != nil {
		return nil, err
	}
	data, err := io.ReadAll(io.LimitReader(r, maxInventory))
	return data, wrap("get", key, errors.Join(err, r.Close()))
}

// optional is small for what may be missing.
func (s *Store) optional(ctx context.Context, key string) ([]byte, error) {
	data, err := s.small(ctx, key)
	if CodeOf(err) == CodeNotFound {
		return nil, nil
	}
	return data, err
}

// ocflObject reads an object. A version exists as soon as its directory has its inventory,
// which is written once: the one at the root, which is replaced, may be that of an earlier
// version after a crash, or damaged. CodeNotFound: there is no version.
func (s *Store) ocflObject(ctx context.Context, object string) (o ocflObject, err error) {
	o.root = OCFLRoot(object)
	at := map[string][]byte{} // what is at the root
	for _, name := range []string{ocfl.Declaration, ocfl.Sidecar, ocfl.Inventory} {
		if at[name], err = s.optional(ctx, o.root+"/"+name); err != nil {
			return o, err
		}
	}
	data := at[ocfl.Inventory]
	if is, bad := ocfl.Decode(object, data); bad == nil && bytes.Equal(at[ocfl.Sidecar], ocfl.SidecarOf(data)) {
		o.Object = is
	}
	for {
		next, has, err := s.ocflVersion(ctx, o.root, object, o.Number()+1)
		if err != nil {
			return o, err
		}
		if has == nil {
			break
		}
		o.Object, data = next, has
	}
	if o.Number() == 0 {
		return o, &Error{Code: CodeNotFound, Op: "find object", Key: o.root}
	}
	version := ocfl.VersionName(o.Number()) + "/"
	for _, name := range []string{version + ocfl.Inventory, version + ocfl.Sidecar} {
		if at[name], err = s.optional(ctx, o.root+"/"+name); err != nil {
			return o, err
		}
	}
	for _, f := range []ocfl.File{{Name: version + ocfl.Inventory, Data: data}, {Name: version + ocfl.Sidecar, Data: ocfl.SidecarOf(data)},
		{Name: ocfl.Declaration, Data: []byte(ocfl.DeclarationText)}, {Name: ocfl.Sidecar, Data: ocfl.SidecarOf(data)}, {Name: ocfl.Inventory, Data: data}} {
		if !bytes.Equal(at[f.Name], f.Data) {
			o.wrong = append(o.wrong, f)
		}
	}
	return o, nil
}

// ocflVersion reads the inventory of a version, nil = it does not exist.
func (s *Store) ocflVersion(ctx context.Context, root, object string, number int) (o ocfl.Object, data []byte, err error) {
	dir := root + "/" + ocfl.VersionName(number) + "/"
	if data, err = s.optional(ctx, dir+ocfl.Inventory); err != nil || data == nil {
		return o, nil, err
	}
	sidecar, err := s.optional(ctx, dir+ocfl.Sidecar)
	if err != nil {
		return o, nil, err
	}
	o, bad := ocfl.Decode(object, data)
	switch {
	case bad == nil && o.Number() != number:
		bad = fmt.Errorf("it has %d versions", o.Number())
	case bad == nil && sidecar != nil && !bytes.Equal(sidecar, ocfl.SidecarOf(data)):
		bad = errors.New("its digest is not the one in " + ocfl.Sidecar)
	}
	if bad != nil {
		return o, nil, &Error{Code: CodeMismatch, Op: "read inventory", Key: dir + ocfl.Inventory,
			Hint: "it is not the inventory that was written: restore it from a copy of the store", Err: bad}
	}
	return o, data, nil
}

// FindManifest returns the storage manifest of a version, its key and its SHA-256, in the
// layout in which the version is. CodeNotFound: it does not exist.
func (s *Store) FindManifest(ctx context.Context, object string, version int) (m StorageManifest, key, sha string, err error) {
	key = ManifestKey(object, version)
	if m, sha, err = s.ReadManifest(ctx, key); CodeOf(err) != CodeNotFound {
		return m, key, sha, err
	}
	o, err := s.ocflObject(ctx, object)
	if err != nil {
		return m, key, "", err
	}
	if key, err = o.manifest(version); err != nil {
		return m, key, "", err
	}
	if m, sha, err = s.ReadManifest(ctx, key); CodeOf(err) == CodeNotFound {
		err = &Error{Code: CodeMismatch, Op: "read manifest", Key: key, Hint: "it is missing: restore it from a copy of the store", Err: err}
	}
	return m, key, sha, err
}

// OCFLFaults returns which of the files that describe an object are not as the inventory of
// its newest version wants them; none if the object is not in this layout. [Store.SettleOCFL]
// writes them again. CodeMismatch: that inventory is damaged itself, or does not have the
// storage manifest with this key and SHA-256.
func (s *Store) OCFLFaults(ctx context.Context, object, manifestKey, sha string) (faults []string, err error) {
	if !strings.HasPrefix(manifestKey, OCFLPrefix) {
		return nil, nil
	}
	o, err := s.ocflObject(ctx, object)
	if err == nil && !slices.Contains(o.Manifest[sha], strings.TrimPrefix(manifestKey, o.root+"/")) {
		err = &Error{Code: CodeNotFound, Op: "find version", Key: manifestKey}
	}
	if CodeOf(err) == CodeNotFound {
		err = &Error{Code: CodeMismatch, Op: "read inventory", Key: o.root + "/" + ocfl.Inventory,
			Hint: "the inventories of the object do not have the version: restore them from a copy of the store", Err: err}
	}
	for _, f := range o.wrong {
		faults = append(faults, o.root+"/"+f.Name)
	}
	return faults, err
}

// SettleOCFL lets an object be described by the inventory of its newest version, its root
// last. It may be called at any time; a process that stood still meanwhile and put an
// earlier inventory at the root is corrected by the next call.
func (s *Store) SettleOCFL(ctx context.Context, object string) error {
	for {
		o, err := s.ocflObject(ctx, object)
		if err != nil || len(o.wrong) == 0 {
			return err
		}
		for _, f := range o.wrong {
			err := crash.Around("store/ocfl/settle", func() error {
				_, err := s.Put(ctx, o.root+"/"+f.Name, bytes.NewReader(f.Data))
				return err
			})
			if err != nil {
				return err
			}
		}
	}
}

// declareOCFL declares the storage root, once.
func (s *Store) declareOCFL(ctx context.Context) error {
	if s.declared.Load() {
		return nil
	}
	for _, f := range ocfl.StorageRoot() {
		if _, err := s.PutIfAbsent(ctx, OCFLPrefix+f.Name, bytes.NewReader(f.Data)); CodeOf(err) == CodeConflict {
			return &Error{Code: CodeConflict, Op: "declare storage root", Key: OCFLPrefix + f.Name,
				Hint: "it is a storage root of another program, or with another layout: name another directory or bucket", Err: err}
		} else if err != nil {
			return err
		}
	}
	s.declared.Store(true)
	return nil
}

// writeOCFL is WriteVersion for a version that does not exist.
func (s *Store) writeOCFL(ctx context.Context, v Version, m StorageManifest) (Stored, error) {
	if err := s.declareOCFL(ctx); err != nil {
		return Stored{}, err
	}
	for {
		o, err := s.ocflObject(ctx, v.Object)
		if err != nil && CodeOf(err) != CodeNotFound {
			return Stored{}, err
		}
		w := ocflWrite{Store: s, object: o, at: o.root, to: o.root, number: o.Number() + 1, in: s.folders()}
		err = w.write(ctx, v, m)
		w.in.close()
		if err != nil && CodeOf(err) != CodeConflict {
			return Stored{}, err
		}
		// With a conflict another process has written a version of the object: this one, or
		// one before it.
		done, missing := s.settled(ctx, v.Object, v.Number, m)
		if CodeOf(missing) == CodeNotFound && err != nil {
			if next, e := s.ocflObject(ctx, v.Object); e != nil || next.Number() < w.number {
				return Stored{}, err // what is there is no version
			}
			continue
		}
		return done, missing
	}
}

// ocflWrite writes the next version of an object. In a directory all of it is written
// elsewhere and gets its place by one rename: of the version's directory, or with the first
// version of the object's. In a bucket files get their keys at once, and the version's
// inventory, which is never replaced, makes the version exist.
type ocflWrite struct {
	*Store
	object ocflObject
	number int
	at, to string   // what is below at in the end is written below to
	in     *folders // of a directory
}

func (w *ocflWrite) write(ctx context.Context, v Version, m StorageManifest) (err error) {
	if w.dir != nil {
		if w.number > 1 {
			w.at += "/" + ocfl.VersionName(w.number)
		}
		if w.to, err = w.stage(v); err != nil {
			return wrap("write version", w.object.root, err)
		}
		defer func() {
			if err != nil {
				_ = w.dir.root.removeAll("ocfl/unstage", w.to)
			}
		}()
	}
	entries, err := w.files(ctx, v, m)
	if err != nil {
		return err
	}
	about := ocfl.Version{Created: v.Created.String(), Message: fmt.Sprintf("Version %d of %s, deposited as %s of %s", v.Number, v.Object, v.Job, v.Batch)}
	if d := v.Deposit; d != nil && d.Submitter != "" {
		about.User = &ocfl.User{Name: d.Submitter}
		if strings.Contains(d.Submitter, "@") {
			about.User.Address = "mailto:" + d.Submitter
		}
	}
	is := w.object.Next(v.Object, about, entries)
	if w.dir != nil {
		err = w.install(ctx, is.Encode())
	} else {
		err = w.commit(ctx, is)
	}
	return err
}

// files writes the files that the object does not have, and the storage manifest, and returns
// the files of the version. Keys in the manifest are those that they will have.
func (w *ocflWrite) files(ctx context.Context, v Version, m StorageManifest) (all []ocfl.Entry, err error) {
	content := w.object.root + "/" + ocfl.ContentDir(w.number)
	from, to := slices.Clone(v.Files), slices.Clone(m.Files)
	for i, f := range from {
		had, ok := w.object.Content(f.SHA256)
		if ok {
			from[i].Key, to[i].Key = w.object.root+"/"+had, w.object.root+"/"+had
			continue
		}
		if f.Key != "" { // in a version with another layout
			from[i].Open = func() (io.ReadCloser, error) { return w.Get(ctx, f.Key) }
		}
		from[i].Key, to[i].Key = "", w.written(content+string(f.Kind)+"/"+encodePath(f.Name))
	}
	if err := w.writeFiles(ctx, w.in, from, to); err != nil {
		return nil, err
	}
	m.Files = to
	for i, f := range to {
		to[i].Key = w.final(f.Key)
		all = append(all, ocfl.Entry{Name: string(f.Kind) + "/" + f.Name, Digest: f.SHA256, Path: strings.TrimPrefix(to[i].Key, w.object.root+"/")})
	}
	data, sha, err := m.Encode()
	if err != nil {
		return nil, wrap("write version", w.object.root, err)
	}
	key, err := w.writeFile(ctx, StoredFile{Name: "manifest.json", Key: w.written(content + manifestName(v.Number)), Size: int64(len(data)), SHA256: sha},
		func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(data)), nil }, w.in)
	return append(all, ocfl.Entry{Name: "manifest.json", Digest: sha, Path: strings.TrimPrefix(w.final(key), w.object.root+"/")}), err
}

// written returns the key under which a file is written, final the one that it then has.
func (w *ocflWrite) written(key string) string { return w.to + strings.TrimPrefix(key, w.at) }

func (w *ocflWrite) final(key string) string {
	if rest, staged := strings.CutPrefix(key, w.to+"/"); staged {
		return w.at + "/" + rest
	}
	return key
}

// stage returns a new place for a version, after those of earlier attempts of its job were
// removed. Each is moved away first: a worker that lost its claim cannot put the rest of it
// into the object.
func (w *ocflWrite) stage(v Version) (string, error) {
	prefix := fmt.Sprintf("ocfl-%s-v%d-", v.Job, v.Number)
	left, err := fs.ReadDir(w.dir.root.FS(), path.Clean(tmpPrefix))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return "", err
	}
	for _, d := range left {
		gone := newTmp()
		if !strings.HasPrefix(d.Name(), prefix) {
			continue
		}
		err := w.dir.root.rename("ocfl/clear", tmpPrefix+d.Name(), gone)
		if err == nil {
			err = w.dir.root.removeAll("ocfl/forget", gone)
		}
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return "", err
		}
	}
	return tmpPrefix + prefix + rand.Text(), nil
}

// install completes what is staged and renames it. CodeConflict: another process has written
// this version.
func (w *ocflWrite) install(ctx context.Context, inventory []byte) error {
	version := w.object.root + "/" + ocfl.VersionName(w.number) + "/"
	files := []ocfl.File{{Name: version + ocfl.Inventory, Data: inventory}, {Name: version + ocfl.Sidecar, Data: ocfl.SidecarOf(inventory)}}
	if w.number == 1 {
		files = append(files, ocfl.File{Name: w.at + "/" + ocfl.Declaration, Data: []byte(ocfl.DeclarationText)},
			ocfl.File{Name: w.at + "/" + ocfl.Sidecar, Data: ocfl.SidecarOf(inventory)}, ocfl.File{Name: w.at + "/" + ocfl.Inventory, Data: inventory})
	}
	for _, f := range files {
		if _, err := w.put(ctx, w.written(f.Name), bytes.NewReader(f.Data), putOptions{absent: true, in: w.in}); err != nil {
			return err
		}
	}
	err := w.in.sync()
	if err == nil {
		parent, name := path.Split(w.at)
		err = w.in.in(path.Clean(parent), func(to folder) error {
			return w.in.in(path.Dir(w.to), func(from folder) error { return from.rename("ocfl/install", path.Base(w.to), to, name) })
		})
		w.in.enters(path.Clean(parent))
	}
	if err == nil {
		err = w.in.sync()
	}
	return wrap("write version", w.at, err)
}

// commit writes the inventory that makes the version exist, and removes what other attempts
// have left beside its files; with CodeConflict what this one has left beside those of another.
func (w *ocflWrite) commit(ctx context.Context, is ocfl.Object) error {
	version := w.object.root + "/" + is.Head + "/"
	data := is.Encode()
	err := crash.Around("store/ocfl/commit", func() error {
		_, err := w.PutIfAbsent(ctx, version+ocfl.Inventory, bytes.NewReader(data))
		return err
	})
	if CodeOf(err) == CodeConflict {
		has, data, bad := w.ocflVersion(ctx, w.object.root, is.ID, w.number)
		if bad != nil || data == nil {
			return cmp.Or(bad, err)
		}
		is = has
	} else if err != nil {
		return err
	}
	has := is.Paths()
	for o, bad := range w.List(ctx, version) {
		if name := strings.TrimPrefix(o.Key, w.object.root+"/"); bad == nil && !has[name] && path.Dir(name) != is.Head {
			bad = w.Delete(ctx, o.Key)
		}
		if bad != nil {
			return bad
		}
	}
	return err
}
