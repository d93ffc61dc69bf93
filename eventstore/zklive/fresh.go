package zklive

import (
	"context"
	"errors"

	"github.com/go-zookeeper/zk"
)

// fresh asks whether a tree in which nothing ever happened may be used: one that was
// lost looks the same.
func (s *Store) fresh(ctx context.Context) error {
	if s.cfg.Restoring || s.cfg.Fresh == nil {
		return nil
	}
	untouched, err := s.Untouched(ctx)
	if err == nil && untouched {
		err = s.whole(ctx)
	}
	if err != nil || !untouched {
		return err
	}
	refused := s.cfg.Fresh(ctx)
	if refused == nil {
		return nil
	}
	// Events reach the log after the tree, so that a look behind it settles whether
	// they are those of somebody who has begun to use the tree meanwhile.
	if untouched, err = s.Untouched(ctx); err == nil && !untouched {
		return nil
	}
	return refused
}

// Untouched implements eventstore.Restorer.
func (s *Store) Untouched(ctx context.Context) (bool, error) {
	for _, path := range []string{s.paths.epoch(), s.paths.ids("jid"), s.paths.ids("bid")} {
		var n int64
		_, err := s.getJSON(ctx, path, &n)
		if errors.Is(err, zk.ErrNoNode) {
			return true, nil
		}
		if err != nil {
			return false, s.unopened(err)
		}
		if n > 1 && path != s.paths.epoch() {
			return false, nil
		}
	}
	versions, _, err := s.children(ctx, s.paths.at("/config/versions"))
	if errors.Is(err, zk.ErrNoNode) {
		err = nil
	}
	if err != nil {
		return false, s.unopened(err)
	}
	return len(versions) == 0, nil
}
