package store

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strings"

	awshttp "github.com/aws/aws-sdk-go-v2/aws/transport/http"
	"github.com/aws/aws-sdk-go-v2/service/s3"
	gcaws "gocloud.dev/aws"
	"gocloud.dev/blob"
	"gocloud.dev/blob/s3blob"
	"gocloud.dev/gcerrors"
)

// defaultRegion is the region of a bucket that neither its URL nor the environment names.
const defaultRegion = "us-east-1"

// openBucket opens a bucket that is no directory: one of S3 or of a service that speaks like it,
// s3://BUCKET[/PREFIX][?endpoint=URL&region=R&profile=NAME], or one whose driver is linked in.
// Keys for S3 are found as the tools of AWS find them, for a profile or the default one.
// free frees what it holds beside the bucket.
func openBucket(ctx context.Context, location string) (b *blob.Bucket, free func(), err error) {
	u, err := url.Parse(location)
	if err != nil || u.Scheme != s3blob.Scheme {
		b, err = blob.OpenBucket(ctx, location)
		return b, func() {}, err
	}
	if u.Host == "" || u.User != nil || u.Fragment != "" {
		return nil, nil, errors.New("this is no bucket")
	}
	cfg, err := gcaws.V2ConfigFromURLParams(ctx, u.Query())
	if err != nil {
		return nil, nil, err
	}
	connections := awshttp.NewBuildableClient().GetTransport()
	cfg.HTTPClient = &http.Client{Transport: connections}
	cfg.Region = cmp.Or(cfg.Region, defaultRegion)
	// A service of one's own seldom has a name in DNS for each bucket.
	client := s3.NewFromConfig(cfg, func(o *s3.Options) { o.UsePathStyle = o.BaseEndpoint != nil || u.Query().Has("endpoint") })
	b, err = s3blob.OpenBucket(ctx, client, u.Host, &s3blob.Options{RequestChecksumCalculation: cfg.RequestChecksumCalculation})
	if prefix := strings.Trim(u.Path, "/"); err == nil && prefix != "" {
		b = blob.PrefixedBucket(b, prefix+"/")
	}
	return b, connections.CloseIdleConnections, err
}

// provesConditions reports an error unless the bucket of a service refuses to write an object that is there
// already, where that was asked for: some services write it all the same, and a version could
// take the place of another one. Each of the first writers tries it for itself: one that waits for
// a service that hangs holds no other one up.
func (s *Store) provesConditions(ctx context.Context) error {
	if !s.unproven.Load() {
		return nil
	}
	key := newTmp()
	write := func() error {
		return s.bucket.WriteAll(ctx, key, nil, &blob.WriterOptions{ContentType: contentType, IfNotExist: true})
	}
	err := write()
	if err == nil {
		err = write()
		_ = s.bucket.Delete(context.WithoutCancel(ctx), key) // left over, it would only take space
	}
	switch {
	case gcerrors.Code(err) == gcerrors.FailedPrecondition:
		s.unproven.Store(false)
		return nil
	case err == nil:
		return &Error{Code: CodeBroken, Op: "put", Key: key,
			Hint: "the service of the bucket ignores If-None-Match, so that a version could be overwritten: use one that does not"}
	}
	return fmt.Errorf("try whether the bucket leaves alone what is there: %w", err)
}
