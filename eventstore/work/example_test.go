package work_test

import (
	"bufio"
	"context"
	"log"
	"os"
	"os/signal"

	"github.com/accession-ingest/accession/eventstore/work"
)

// A worker that counts the lines of what it is given, until it is interrupted.
func ExampleWorker_Run() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	w := &work.Worker{Server: "https://accession.example.org", Key: os.Getenv("ACCESSION_KEY"), Name: "lines", Datasets: []string{"tides"}}
	err := w.Run(ctx, func(ctx context.Context, e *work.Entry) (any, error) {
		counted := map[string]int{}
		for _, in := range e.Inputs {
			content, err := in.Open(ctx)
			if err != nil {
				return nil, err
			}
			lines := bufio.NewScanner(content)
			for lines.Scan() {
				counted[in.Name]++
			}
			if err := lines.Err(); err != nil {
				return nil, err
			}
			if err := content.Close(); err != nil {
				return nil, err
			}
		}
		return counted, nil
	})
	if err != nil {
		log.Print(err)
	}
}
