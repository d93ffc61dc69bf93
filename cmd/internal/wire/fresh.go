package wire

import (
	"context"
	"errors"
	"fmt"

	"github.com/accession-ingest/accession/cmd/internal/app"
)

// fresh lets a tree be used in which nothing ever happened only beside an empty log:
// else the tree that the log was written from is lost, and deposits would be given
// ids that were used.
func (w *World) fresh(ctx context.Context) error {
	log, err := w.Log(ctx)
	var last uint64
	if err == nil {
		info, asked := log.Info(ctx)
		last, err = info.Last, w.asked(asked)
	}
	if err != nil {
		var known *app.Error
		if errors.As(err, &known) {
			err = &app.Error{Kind: known.Kind, What: known.What, Hint: known.Hint,
				Err: fmt.Errorf("the tree below %s/ is new or lost, and only the log tells which: %w", w.cfg.ZooKeeperRoot, known.Err)}
		}
		return err
	}
	if last == 0 {
		return nil
	}
	return &app.Error{Kind: app.Lost, What: app.ServerZooKeeper,
		Err:  fmt.Errorf("the tree below %s/ is lost: it has nothing, and the log %s has %d events; `accession restore zookeeper` makes it anew", w.cfg.ZooKeeperRoot, w.cfg.NATSStream, last),
		Hint: "nothing was made or taken. Is this the right server, and the right zookeeper_root? Then stop every process and run `accession restore zookeeper`"}
}

// asked is the error of a log that was opened and does not answer.
func (w *World) asked(err error) error {
	if err == nil {
		return nil
	}
	return w.unavailable(app.ServerNATS, err)
}
