package jslog_test

import (
	"context"
	"fmt"
	"os"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
)

// TestMain keeps one stream in the server as long as the tests run: with its last
// stream the server removes their directory, and another stream that is just being
// created then fails.
func TestMain(m *testing.M) {
	code := 1
	if give, err := keepStream(); err == nil {
		code = m.Run()
		give()
	} else {
		fmt.Fprintln(os.Stderr, "keep a stream:", err)
	}
	os.Exit(code)
}

func keepStream() (give func(), err error) {
	nc, err := nats.Connect(os.Getenv("ACCESSION_TEST_NATS"))
	if err != nil {
		return func() {}, nil //nolint:nilerr // the tests say what is missing
	}
	js, err := jetstream.New(nc)
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	name := "test-kept-" + uuid.NewString()
	if _, err := js.CreateStream(ctx, jetstream.StreamConfig{Name: name, Subjects: []string{name}}); err != nil {
		return nil, err
	}
	return func() {
		defer nc.Close()
		ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
		defer cancel()
		if err := js.DeleteStream(ctx, name); err != nil {
			fmt.Fprintln(os.Stderr, "the kept stream stays behind:", err)
		}
	}, nil
}
