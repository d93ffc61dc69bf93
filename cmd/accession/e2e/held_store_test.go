package e2e

import (
	"context"
	"errors"
	"net/http"
	"net/url"

	"gocloud.dev/blob"
	"gocloud.dev/blob/driver"
	"gocloud.dev/gcerrors"
)

// heldScheme is the scheme of object stores that write each object to a server by one PUT,
// which may hang, and find nothing.
const heldScheme = "held"

// registerHeldStore makes the scheme known to the program that the test binary is.
func registerHeldStore() { blob.DefaultURLMux().RegisterBucket(heldScheme, heldStore{}) }

type heldStore struct {
	driver.Bucket
	host string
}

// OpenBucketURL implements blob.BucketURLOpener.
func (heldStore) OpenBucketURL(_ context.Context, u *url.URL) (*blob.Bucket, error) {
	return blob.NewBucket(heldStore{host: u.Host}), nil
}

var errNotThere = errors.New("there is no such object")

func (heldStore) ErrorCode(err error) gcerrors.ErrorCode {
	if errors.Is(err, errNotThere) {
		return gcerrors.NotFound
	}
	return gcerrors.Unknown
}
func (heldStore) ErrorAs(error, any) bool { return false }
func (heldStore) As(any) bool             { return false }
func (heldStore) Close() error            { return nil }

func (heldStore) NewRangeReader(context.Context, string, int64, int64, *driver.ReaderOptions) (driver.Reader, error) {
	return nil, errNotThere
}

func (s heldStore) NewTypedWriter(ctx context.Context, key, _ string, _ *driver.WriterOptions) (driver.Writer, error) {
	return heldWriter{ctx, "http://" + s.host + "/" + key}, nil
}

type heldWriter struct {
	ctx context.Context
	url string
}

func (w heldWriter) Write(p []byte) (int, error) {
	req, err := http.NewRequestWithContext(w.ctx, http.MethodPut, w.url, http.NoBody)
	if err != nil {
		return 0, err
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return 0, err
	}
	return len(p), resp.Body.Close()
}

func (w heldWriter) Close() error { return w.ctx.Err() }
