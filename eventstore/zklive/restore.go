package zklive

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/go-zookeeper/zk"
	"github.com/google/uuid"

	"github.com/accession-ingest/accession/domain"
	"github.com/accession-ingest/accession/eventstore"
	"github.com/accession-ingest/accession/internal/crash"
)

var _ eventstore.Restorer = (*Store)(nil)

// restoring is a node that stands while a tree is being made: nobody may use it yet.
func (p paths) restoring() string { return p.at("/config/restoring") }

// excluding is the same for a log that is being restored: the tree is whole.
func (p paths) excluding() string { return p.at("/config/restoring-log") }

// errRestoring is the answer to who opens a tree that is not whole.
var errRestoring = &eventstore.Error{Op: "open the tree", Err: eventstore.ErrBroken,
	Hint: "it is being restored, or a restore was interrupted: `accession restore zookeeper` begins it again"}

var errRestoringLog = &eventstore.Error{Op: "open the tree", Err: eventstore.ErrBroken,
	Hint: "the log is being restored, or that was interrupted: `accession restore log` goes on with it"}

// whole refuses a tree that is being restored, to all but who restores it.
func (s *Store) whole(ctx context.Context) error {
	if s.cfg.Restoring {
		return nil
	}
	stat, err := s.exists(ctx, s.paths.restoring())
	if err == nil && stat != nil {
		return errRestoring
	}
	if err == nil {
		stat, err = s.exists(ctx, s.paths.excluding())
	}
	if err == nil && stat != nil {
		err = errRestoringLog
	}
	return err
}

// Exclude implements eventstore.Restorer. Who opened the tree before looks once more
// after it is registered.
func (s *Store) Exclude(ctx context.Context) error {
	begun, err := s.exists(ctx, s.paths.restoring())
	if err != nil {
		return err
	}
	if begun != nil {
		return s.refuse(fmt.Sprintf("the tree below %s/ is being restored, or that was interrupted: `accession restore zookeeper` begins it again, and comes first", s.paths))
	}
	made, err := s.guard(ctx, s.paths.excluding())
	if err != nil {
		return err
	}
	if err = s.alone(ctx); err != nil && made {
		s.guarding = s.paths.excluding()
		return errors.Join(err, s.Restored(ctx))
	}
	if err == nil { // made, or left by one that was interrupted
		s.guarding = s.paths.excluding()
	}
	return err
}

// guard makes a node that keeps others out, and tells whether it was this call that
// made it, also when the answer was lost.
func (s *Store) guard(ctx context.Context, path string) (made bool, err error) {
	mark := encode(uuid.NewString())
	if err := s.ensure(ctx, path, mark); err != nil {
		return false, err
	}
	n, err := s.get(ctx, path)
	return err == nil && bytes.Equal(n.data, mark), err
}

// NewEpoch implements eventstore.Restorer. When an answer was lost it begins one
// more.
func (s *Store) NewEpoch(ctx context.Context) (int64, error) {
	for {
		var epoch int64
		stat, err := s.getJSON(ctx, s.paths.epoch(), &epoch)
		if err == nil {
			crash.Point("zklive/restore/before-epoch")
			_, err = read(ctx, func() (*zk.Stat, error) { return s.conn.Set(s.paths.epoch(), encode(epoch+1), stat.Version) })
			crash.Point("zklive/restore/after-epoch")
		}
		if errors.Is(err, zk.ErrBadVersion) {
			continue
		}
		if err != nil {
			return 0, &eventstore.Error{Op: "begin an epoch", Err: err}
		}
		s.mu.Lock()
		s.epochKnown = 0
		s.mu.Unlock()
		return epoch + 1, nil
	}
}

// Restore implements eventstore.Restorer.
func (s *Store) Restore(ctx context.Context, h eventstore.History, progress func(done, total int)) error {
	if err := s.clear(ctx); err != nil {
		return err
	}
	p := s.paths
	if _, err := s.guard(ctx, p.restoring()); err != nil {
		return err
	}
	s.guarding = p.restoring() // made, or left by one that was interrupted
	for path, n := range map[string]int64{p.epoch(): h.Epoch + 1, p.ids("bid"): h.NextBatch, p.ids("jid"): h.NextJob} {
		crash.Point("zklive/restore/before-number")
		if _, err := read(ctx, func() (*zk.Stat, error) { return s.conn.Set(path, encode(n), -1) }); err != nil {
			return &eventstore.Error{Op: "restore " + p.name(path), Err: err}
		}
		crash.Point("zklive/restore/after-number")
	}
	s.mu.Lock()
	s.epochKnown = 0
	s.mu.Unlock()
	d := drawer{s: s, plan: &plan{}, progress: progress, total: len(h.Batches) + len(h.Jobs) + len(h.Settings)}
	for _, set := range h.Settings {
		if err := d.add(ctx, p.settingImage(set)); err != nil {
			return err
		}
	}
	for _, b := range h.Batches {
		if err := d.add(ctx, p.batchImage(b)); err != nil {
			return err
		}
	}
	for _, j := range h.Jobs {
		img := p.jobImage(j)
		img[p.claims(j.ID)] = encode(claimCount{Version: j.Version})
		if err := d.add(ctx, img); err != nil {
			return err
		}
	}
	return d.flush(ctx)
}

// Restored implements eventstore.Restorer.
func (s *Store) Restored(ctx context.Context) error {
	if s.guarding == "" {
		return nil
	}
	crash.Point("zklive/restore/before-end")
	_, err := read(ctx, func() (struct{}, error) { return struct{}{}, s.conn.Delete(s.guarding, -1) })
	crash.Point("zklive/restore/after-end")
	if err != nil && !errors.Is(err, zk.ErrNoNode) {
		return err
	}
	s.guarding = ""
	return nil
}

// drawer makes nodes, many a multi.
type drawer struct {
	s           *Store
	plan        *plan
	added       int // since the last multi
	done, total int
	progress    func(done, total int)
}

func (d *drawer) add(ctx context.Context, img image) error {
	for _, path := range diff(nil, img).create {
		d.plan.create(path, img[path], 0, eventstore.ErrConflict)
	}
	d.added++
	if len(d.plan.ops) > maxOps/2 || d.plan.bytes > maxBytes/2 {
		return d.flush(ctx)
	}
	return nil
}

// flush sends what has gathered. Nobody else writes, so that after an answer that
// was lost the last node tells whether all of them are there.
func (d *drawer) flush(ctx context.Context) error {
	ops := d.plan.ops
	if len(ops) > 0 {
		last := ops[len(ops)-1].(*zk.CreateRequest).Path
		lost := false
		_, err := read(ctx, func() ([]zk.MultiResponse, error) {
			crash.Point("zklive/restore/before-part")
			answers, err := d.s.conn.Multi(ops...)
			crash.Point("zklive/restore/after-part")
			if lost && errors.Is(err, zk.ErrNodeExists) {
				if ok, _, look := d.s.conn.Exists(last); look == nil && ok {
					return nil, nil
				}
			}
			lost = lost || err != nil && !answered(err)
			return answers, err
		})
		if err != nil {
			return &eventstore.Error{Op: "restore the tree", Err: err}
		}
	}
	d.done += d.added
	d.plan, d.added = &plan{}, 0
	if d.progress != nil {
		d.progress(d.done, d.total)
	}
	return nil
}

// clear refuses a tree that holds anything, or that another process uses. What an
// interrupted restore left is removed.
func (s *Store) clear(ctx context.Context) error {
	if err := s.alone(ctx); err != nil {
		return err
	}
	begun, err := s.exists(ctx, s.paths.restoring())
	if err != nil {
		return err
	}
	if begun == nil {
		half, err := s.exists(ctx, s.paths.excluding())
		if err != nil {
			return err
		}
		if half != nil {
			return s.refuse("the log is being restored, or that was interrupted: `accession restore log` goes on with it, and comes first")
		}
	}
	below, err := s.contents(ctx)
	if err != nil || len(below) == 0 {
		return err
	}
	if begun == nil {
		return s.refuse(fmt.Sprintf("the tree below %s/ is not empty: it holds %s; name an empty one with the setting zookeeper_root, or look whether it is lost at all: `accession verify`", s.paths, s.paths.name(below[0])))
	}
	for _, node := range below {
		if err := s.destroy(ctx, node); err != nil {
			return err
		}
	}
	return nil
}

func (s *Store) refuse(why string) error {
	return &domain.Refused{Code: "not_restorable", State: "there", Message: why}
}

// alone refuses when another process is registered.
func (s *Store) alone(ctx context.Context) error {
	workers, _, err := s.children(ctx, s.paths.at("/workers"))
	if err != nil {
		return err
	}
	for _, w := range workers {
		if w != s.WorkerID() {
			return s.refuse(fmt.Sprintf("another process uses the tree below %s/: stop every `accession serve` first", s.paths))
		}
	}
	return nil
}

// contents lists what a tree holds besides the directories that every tree has.
func (s *Store) contents(ctx context.Context) ([]string, error) {
	dirs := []string{"/batches", "/jobs", "/space", "/locks/collections", "/locks/queue", "/config/versions"}
	for _, st := range domain.JobStates {
		dirs = append(dirs, "/jobs/states/"+string(st))
	}
	for n := range s.outbox.shards {
		buckets, err := s.outbox.bucketsOf(ctx, n)
		if err != nil {
			return nil, err
		}
		for _, b := range buckets {
			dirs = append(dirs, s.paths.name(s.paths.bucket(n, b)))
		}
	}
	var all []string
	for _, dir := range dirs {
		names, _, err := s.children(ctx, s.paths.at(dir))
		if errors.Is(err, zk.ErrNoNode) {
			continue
		}
		if err != nil {
			return nil, err
		}
		for _, n := range names {
			if dir != "/jobs" || n != "states" {
				all = append(all, s.paths.at(strings.TrimSuffix(dir, "/")+"/"+n))
			}
		}
	}
	return all, nil
}
