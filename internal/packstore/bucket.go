package packstore

import (
	"context"
	"io"
	"net/url"
	"strings"
	"time"

	"github.com/minio/minio-go/v7"
	"github.com/minio/minio-go/v7/pkg/credentials"

	"github.com/omoi-dev/omoi/internal/checkpoint"
)

// readWait is the timeout of reading, so that a store that hangs does not hold requests.
const readWait = 20 * time.Second

// bucket stores objects in a bucket of an S3-compatible object store.
type bucket struct {
	core   minio.Core
	name   string
	prefix string // empty, or with a slash at its end
}

// openBucket reads the address of a bucket. Credentials come from the variables AWS_*, ~/.aws/credentials, or the role of the machine
// or pod.
func openBucket(u *url.URL) (checkpoint.Packs, error) {
	query := u.Query()
	endpoint, region := query.Get("endpoint"), query.Get("region")
	query.Del("endpoint")
	query.Del("region")
	if u.Host == "" || len(query) > 0 {
		return nil, invalid("must name a bucket, and has the parameters region and endpoint only")
	}
	at := &url.URL{Scheme: "https", Host: "s3.amazonaws.com"}
	if endpoint != "" {
		var err error
		if at, err = url.Parse(endpoint); err != nil || at.Host == "" || at.Scheme != "http" && at.Scheme != "https" {
			return nil, invalid("has an endpoint that is not an http or https URL")
		}
	}
	core, err := minio.NewCore(at.Host, &minio.Options{
		Secure: at.Scheme == "https", Region: region, MaxRetries: 1, // callers repeat
		Creds: credentials.NewChainCredentials([]credentials.Provider{
			&credentials.EnvAWS{}, &credentials.FileAWSCredentials{}, &credentials.IAM{},
		}),
	})
	if err != nil {
		return nil, invalid("has an endpoint that is not usable: " + err.Error())
	}
	prefix := strings.Trim(u.Path, "/")
	if prefix != "" {
		prefix += "/"
	}
	return &bucket{core: *core, name: u.Host, prefix: prefix}, nil
}

func (b *bucket) Put(ctx context.Context, key string, size int64, content io.Reader) error {
	_, err := b.core.PutObject(ctx, b.name, b.prefix+key, content, size, "", "", minio.PutObjectOptions{ContentType: "application/octet-stream"})
	if err != nil {
		return failed("write", err)
	}
	return nil
}

func (b *bucket) Read(ctx context.Context, key string, offset, most int64) ([]byte, error) {
	ctx, cancel := context.WithTimeout(ctx, readWait)
	defer cancel()
	var part minio.GetObjectOptions
	if err := part.SetRange(offset, offset+most-1); err != nil {
		return nil, failed("read", err)
	}
	body, _, _, err := b.core.GetObject(ctx, b.name, b.prefix+key, part)
	if err != nil {
		return nil, unread(err)
	}
	defer func() { _ = body.Close() }()
	content, err := io.ReadAll(io.LimitReader(body, most))
	switch {
	case err != nil:
		return nil, failed("read", err)
	case len(content) == 0:
		return nil, missing(io.ErrUnexpectedEOF)
	}
	return content, nil
}

// unread returns the error for an answer without content.
func unread(err error) error {
	switch minio.ToErrorResponse(err).Code {
	case minio.NoSuchKey, minio.InvalidRange:
		return missing(err)
	}
	return failed("read", err)
}

func (b *bucket) Delete(ctx context.Context, key string) error {
	if err := b.core.RemoveObject(ctx, b.name, b.prefix+key, minio.RemoveObjectOptions{}); err != nil {
		return failed("delete", err)
	}
	return nil
}
