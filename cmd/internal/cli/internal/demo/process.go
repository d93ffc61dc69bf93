package demo

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"path/filepath"

	"github.com/accession-ingest/accession/cmd/internal/app/directories"
	"github.com/accession-ingest/accession/cmd/internal/run"
	"github.com/accession-ingest/accession/domain"
	"github.com/accession-ingest/accession/domain/setting"
)

// processingSeconds is how long a worker may take for a file of the demonstration.
const processingSeconds = 2

// command returns what the worker runs for each file: it counts lines and bytes, but for
// image-2.img, with which it hangs when it gets it first.
func command(dir instrument) string {
	stuck := filepath.Join(filepath.Dir(string(dir)), "stuck")
	return fmt.Sprintf(`case {in} in *image-2.img) [ -e '%[1]s' ] || { : > '%[1]s'; exec sleep 600; };; esac; wc -lc < {in} > {out}`, stuck)
}

// process has a worker process what is ready. With one file it hangs; the sweeper ends that attempt,
// and the next one is done.
func (d *demo) process(ctx context.Context, dir instrument, at string, rules setting.Rules, from uint64) error {
	const why = "the demonstration"
	if _, err := d.app.SetTimeouts(ctx, domain.Timeouts{ProcessingSeconds: processingSeconds}, why); err != nil {
		return err
	}
	rules.Process = &setting.Process{}
	if _, err := directories.SetDataset(ctx, d.app, dataset, directories.DatasetEdit{Rules: &rules}, why); err != nil {
		return err
	}
	d.step("A worker takes the files from the compute queue, and counts lines and bytes. It hangs with\nimage-2.img, and the sweeper ends what takes longer than %d s:", processingSeconds)
	working, stop := context.WithCancel(ctx)
	ended := make(chan error, 1)
	go func() {
		ended <- run.Compute(working, d.cfg, slog.New(slog.DiscardHandler), run.ComputeWorker{Datasets: []string{dataset}, Exec: command(dir), Timeout: demoTimeout, Parallel: 2, Version: d.Version})
	}()
	d.closing = append(d.closing, func() error {
		stop()
		if err := <-ended; !errors.Is(err, context.Canceled) {
			return err
		}
		return nil
	})
	want := map[string]domain.FileState{}
	for _, name := range []string{"image-1.img", "image-1.txt", "image-2.img", "image-2.txt"} {
		want[name] = domain.FileProcessed
	}
	if _, err := d.become(ctx, from+1, want); err != nil {
		return err
	}
	return d.recovered(ctx, domain.HashFile(at, "image-2.img"))
}

// recovered checks that one attempt at a file took too long, and shows it.
func (d *demo) recovered(ctx context.Context, hash domain.FileHash) error {
	if err := d.app.CatchUp(ctx); err != nil {
		return err
	}
	v, err := d.app.File(ctx, hash)
	if err != nil {
		return err
	}
	if len(v.Retries) != 1 || v.Retries[0].Code != string(domain.CodeProcessingTimeout) {
		return fmt.Errorf("not as intended: the image with which the worker hung has the failed attempts %+v", v.Retries)
	}
	d.say("image-2.img was recovered: attempt %d took too long, attempt %d is done.", v.Retries[0].Attempt, v.Retries[0].Attempt+1)
	return nil
}
