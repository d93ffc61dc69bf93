// Package servers starts and stops private servers for a command.
package servers

import (
	"context"
	"fmt"
	"io"
	"time"

	"github.com/accession-ingest/accession/cmd/internal/cli/internal/render"
	"github.com/accession-ingest/accession/cmd/internal/stack"
)

// Start starts the servers and writes a line on w for each that is ready.
func Start(ctx context.Context, o stack.Options, w io.Writer) (*stack.Stack, error) {
	begun := time.Now()
	o.Progress = func(server stack.Server, phase stack.Phase) {
		if phase == stack.Healthy {
			fmt.Fprintf(w, "  %-10s ready after %s\n", server, render.Duration(time.Since(begun)))
		}
	}
	return stack.Start(ctx, o)
}

// Stop stops the servers; err is what happened before.
func Stop(s *stack.Stack, err error) error {
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	if stopErr := s.Stop(ctx); err == nil {
		err = stopErr
	}
	return err
}
