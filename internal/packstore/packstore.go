// Package packstore stores packs of checkpoints outside the database: in an S3-compatible object store, or in a folder that all
// API processes and workers share.
package packstore

import (
	"bytes"
	"context"
	"net/url"
	"time"

	"github.com/omoi-dev/omoi/internal/checkpoint"
	"github.com/omoi-dev/omoi/internal/task"
)

// Open returns the store at an address: s3://bucket/prefix?region=...&endpoint=..., or file:///folder. Open does not connect.
// [task.CodeInvalid] for another address.
func Open(address string) (checkpoint.Packs, error) {
	u, err := url.Parse(address)
	if err != nil {
		return nil, invalid("is not a URL")
	}
	switch {
	case u.User != nil:
		return nil, invalid("holds a user or password, which belong in AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY")
	case u.Scheme == "s3":
		return openBucket(u)
	case u.Scheme == "file" && u.Host == "" && len(u.Path) > 1 && u.RawQuery == "":
		return folder(u.Path), nil
	}
	return nil, invalid("is neither s3://bucket nor file:///folder")
}

func invalid(why string) error {
	return task.Errorf(task.CodeInvalid, "Invalid checkpoint.store: the value %s. "+
		"Next: set it to s3://bucket?region=eu-central-1, to file:///folder, or leave it empty for the database", why)
}

// Check writes a small object, reads it back and deletes it.
func Check(ctx context.Context, s checkpoint.Packs) error {
	const longest = 10 * time.Second
	ctx, cancel := context.WithTimeout(ctx, longest)
	defer cancel()
	key, content := "omoi-doctor-"+task.NewID(), []byte("omoi doctor")
	if err := s.Put(ctx, key, int64(len(content)), bytes.NewReader(content)); err != nil {
		return err
	}
	got, err := s.Read(ctx, key, 0, int64(len(content)))
	if err != nil {
		return err
	}
	if !bytes.Equal(got, content) {
		return task.Errorf(task.CodeInternal, "The store returned other bytes than were written.")
	}
	return s.Delete(ctx, key)
}

// failed returns the error of a store. The cause names addresses, and stays in the log.
func failed(doing string, err error) error {
	return task.Errorf(task.CodeUnavailable, "The object store of checkpoints cannot %s a pack. Next: omoi doctor, on the server", doing).WithCause(err)
}

// missing returns the error for an object that does not exist, or does not have the bytes.
func missing(err error) error {
	return task.Errorf(task.CodeNotFound, "The object store of checkpoints lacks the pack, or a part of it.").WithCause(err)
}
