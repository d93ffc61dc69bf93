package wire

import (
	"context"
	"errors"
	"io/fs"
	"os"

	"github.com/accession-ingest/accession/cmd/internal/app"
	"github.com/accession-ingest/accession/cmd/internal/app/drops"
	"github.com/accession-ingest/accession/cmd/internal/drop"
	"github.com/accession-ingest/accession/domain"
)

// Drop opens the drop folder of the installation, which it makes if need be; nil = there is
// none. It needs no server.
func (in *Installation) Drop(create bool) (*drop.Folder, error) {
	if !create {
		if _, err := os.Stat(in.cfg.DropDir); errors.Is(err, fs.ErrNotExist) {
			return nil, nil
		}
	}
	return in.drop.get(context.Background(), func(context.Context) (*drop.Folder, error) {
		f, err := drop.Open(in.cfg.DropDir, in.cfg.Instance)
		return f, failed("open the drop folder", err, "the setting drop_dir names it: "+in.cfg.DropDir)
	})
}

// Transfer returns what makes batches of the deposits in the drop folder.
func (in *Installation) Transfer() (*drops.Transfer, error) {
	folder, err := in.Drop(true)
	if err != nil {
		return nil, err
	}
	return &drops.Transfer{App: &app.App{Open: in.Resources(), Actor: domain.Actor("transfer")}, Folder: folder,
		Interval: in.cfg.TransferInterval, Keep: in.cfg.FailedRetention, Log: in.log.With("role", "transfer")}, nil
}
