package fetch

import (
	"cmp"
	"context"
	"errors"
	"iter"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	awshttp "github.com/aws/aws-sdk-go-v2/aws/transport/http"
	"github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/aws/aws-sdk-go-v2/service/s3/types"
)

// Buckets says where the objects of s3:// URLs are, and who asks for them. Such a URL is
// s3://BUCKET/KEY; the policy must have an exception for it, since what an installation may
// read is not for all who deposit there.
type Buckets struct {
	// Endpoint is the http or https URL of the service, whose buckets are the first segment
	// of a path; "" = that of AWS in the region.
	Endpoint string
	Region   string // "" = us-east-1
	// AccessKey and SecretKey sign the requests; "" = they are not signed.
	AccessKey, SecretKey string
}

// schemeBucket begins the URL of an object in a bucket.
const schemeBucket = "s3"

// signedFor is for how long a signed URL counts: it is used at once.
const signedFor = 5 * time.Minute

// pageKeys is how many keys a page of a listing has, so that it stays below Config.MaxReply
// with keys of a kilobyte.
const pageKeys = 500

// inBucket reports whether a URL is that of an object in a bucket.
func inBucket(raw string) bool { return strings.HasPrefix(raw, schemeBucket+"://") }

// service returns a client of the service whose requests are those of c: the same addresses
// are closed to it. They are signed by a key, "" = not at all.
func (c *Client) service(b Buckets) *s3.Client {
	o := s3.Options{HTTPClient: c, Region: cmp.Or(b.Region, "us-east-1"), Retryer: aws.NopRetryer{}, Credentials: aws.AnonymousCredentials{},
		// A checksum of an answer is in its header, and files are compared with their own digests.
		ResponseChecksumValidation: aws.ResponseChecksumValidationWhenRequired}
	if b.Endpoint != "" {
		o.BaseEndpoint, o.UsePathStyle = &b.Endpoint, true
	}
	if b.AccessKey != "" {
		o.Credentials = aws.CredentialsProviderFunc(func(context.Context) (aws.Credentials, error) {
			return aws.Credentials{AccessKeyID: b.AccessKey, SecretAccessKey: b.SecretKey, Source: "settings"}, nil
		})
	}
	return s3.New(o)
}

// object returns bucket and key of a URL that the policy opens.
func (c *Client) object(raw string) (bucket, key string, bad *Error) {
	u, err := url.Parse(raw)
	switch {
	case err != nil || u.Host == "" || len(raw) > 8<<10:
		return "", "", content(CodeBadURL, Redact(raw), "give an address of the form s3://BUCKET/KEY", "this is no URL of an object in a bucket")
	case u.User != nil || u.RawQuery != "" || u.ForceQuery || u.Fragment != "":
		return "", "", content(CodeBadURL, Redact(raw), "give an address of the form s3://BUCKET/KEY, with ? and # percent-encoded", "the URL of an object has neither user nor query")
	}
	bucket, key = u.Host, strings.TrimPrefix(u.Path, "/")
	if !c.policy.opensObject(bucket, key) {
		return "", "", content(CodeAddressRefused, Redact(raw), "the operator can open it by s3://BUCKET/PREFIX in fetch.allow of the profile", "the bucket is closed to this collection")
	}
	return bucket, key, nil
}

// signed returns the URL, signed if there is a key, at which the service has an object.
func (c *Client) signed(ctx context.Context, method, raw string) (string, *Error) {
	bucket, key, bad := c.object(raw)
	if bad != nil {
		return "", bad
	}
	b := c.cfg.Buckets
	open := b.AccessKey == ""
	if open { // the library signs or refuses: the signature is taken out again
		b.AccessKey, b.SecretKey = "none", "none"
	}
	signer := s3.NewPresignClient(c.service(b), s3.WithPresignExpires(signedFor))
	sign := func() (string, error) {
		r, err := signer.PresignGetObject(ctx, &s3.GetObjectInput{Bucket: &bucket, Key: &key})
		if err != nil {
			return "", err
		}
		return r.URL, nil
	}
	if method == http.MethodHead {
		sign = func() (string, error) {
			r, err := signer.PresignHeadObject(ctx, &s3.HeadObjectInput{Bucket: &bucket, Key: &key})
			if err != nil {
				return "", err
			}
			return r.URL, nil
		}
	}
	at, err := sign()
	if err != nil {
		return "", content(CodeBadURL, Redact(raw), "give an address of the form s3://BUCKET/KEY", "there can be no such bucket or key")
	}
	if open {
		at, _, _ = strings.Cut(at, "?")
	}
	return at, nil
}

// Object is an object in a bucket, or a directory of them.
type Object struct {
	Name      string // below the directory that was listed
	Directory bool
	Size      int64
	Modified  time.Time
}

// List yields what a directory of a bucket has, s3://BUCKET/ or s3://BUCKET/PREFIX/: its
// objects, and the directories that keys with a slash make of it. It ends with an error where
// the list cannot be read to its end; every error is an *Error.
func (c *Client) List(ctx context.Context, directory string) iter.Seq2[Object, error] {
	return func(yield func(Object, error) bool) {
		bucket, prefix, bad := c.object(directory)
		if bad != nil {
			yield(Object{}, bad)
			return
		}
		service, ask := c.service(c.cfg.Buckets), s3.ListObjectsV2Input{Bucket: &bucket, Prefix: &prefix, Delimiter: aws.String("/"), MaxKeys: aws.Int32(pageKeys), EncodingType: types.EncodingTypeUrl}
		for {
			page, err := service.ListObjectsV2(ctx, &ask)
			if err != nil {
				yield(Object{}, listError(Redact(directory), err))
				return
			}
			objects, err := objectsOf(page, bucket, prefix)
			if err == nil && *page.IsTruncated && aws.ToString(page.NextContinuationToken) == aws.ToString(ask.ContinuationToken) {
				err = errors.New("the server does not say where the list of the bucket goes on")
			}
			if err != nil {
				yield(Object{}, content(CodeHTTPStatus, Redact(directory), "see whether s3_endpoint is an S3 service", "%s", err))
				return
			}
			for _, o := range objects {
				if !yield(o, nil) {
					return
				}
			}
			if !*page.IsTruncated {
				return
			}
			ask.ContinuationToken = page.NextContinuationToken
		}
	}
}

// errNoList is the error of an answer that is something else.
var errNoList = errors.New("the server answered with something that is no list of the bucket")

// objectsOf returns what a page of a list has. An answer that is no list has none of its parts.
func objectsOf(page *s3.ListObjectsV2Output, bucket, prefix string) (all []Object, err error) {
	if aws.ToString(page.Name) != bucket {
		return nil, errNoList
	}
	if page.IsTruncated == nil {
		return nil, errNoList
	}
	below := func(key *string) (string, error) {
		name := aws.ToString(key)
		if page.EncodingType == types.EncodingTypeUrl {
			if name, err = url.QueryUnescape(name); err != nil {
				return "", errors.New("the list of the bucket has a key that cannot be decoded")
			}
		}
		name, ok := strings.CutPrefix(name, prefix)
		if !ok {
			return "", errors.New("the list of the bucket has a key that is not below the prefix")
		}
		return name, nil
	}
	for _, p := range page.CommonPrefixes {
		name, err := below(p.Prefix)
		if err != nil {
			return nil, err
		}
		all = append(all, Object{Name: strings.TrimSuffix(name, "/"), Directory: true})
	}
	for _, o := range page.Contents {
		name, err := below(o.Key)
		if err != nil {
			return nil, err
		}
		if name != "" { // the directory itself, as some programs make one
			all = append(all, Object{Name: name, Size: aws.ToInt64(o.Size), Modified: aws.ToTime(o.LastModified)})
		}
	}
	return all, nil
}

// listError returns the error of a request for a list.
func listError(shown string, err error) *Error {
	if known, ok := errors.AsType[*Error](err); ok {
		return known
	}
	if answered, ok := errors.AsType[*awshttp.ResponseError](err); ok && answered.HTTPStatusCode() >= http.StatusMultipleChoices {
		e := statusError(shown, answered.HTTPResponse().Response, time.Now())
		if e.Status == http.StatusForbidden || e.Status == http.StatusUnauthorized {
			e.Hint = "see whether s3_access_key and s3_secret_key may list the bucket"
		}
		return e
	}
	e := content(CodeHTTPStatus, shown, "see whether s3_endpoint is an S3 service, and runs", "the list of the bucket cannot be read")
	e.Temporary, e.cause = true, err
	return e
}
