package app

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/omoi-dev/omoi/config"
	"github.com/omoi-dev/omoi/internal/checkpoint"
	"github.com/omoi-dev/omoi/internal/packstore"
	"github.com/omoi-dev/omoi/internal/postgres"
)

// openPacks returns the store of packs; nil: the database.
func openPacks(cfg *config.Loaded) (checkpoint.Packs, error) {
	if cfg.Checkpoint.Store == "" {
		return nil, nil //nolint:nilnil // documented
	}
	return packstore.Open(cfg.Checkpoint.Store)
}

// checkPacks writes to the store of packs, reads and deletes. Without a store, no pack may be in one.
func checkPacks(ctx context.Context, cfg *config.Loaded, database string) Finding {
	found := Finding{Check: "checkpoint store", Status: FindingOK, Detail: "the database"}
	packs, err := openPacks(cfg)
	if err == nil && packs == nil {
		return checkNoPacks(ctx, found, cmp.Or(cfg.Database.URL.Reveal(), database))
	}
	if err == nil {
		found.Detail = "an object was written, read and deleted"
		err = packstore.Check(ctx, packs)
	}
	if err == nil {
		return found
	}
	found.Status, found.Detail, found.Next = FindingFail, firstLine(err), "correct checkpoint.store; see docs/RETENTION.md"
	if cause := errors.Unwrap(err); cause != nil {
		found.Detail = fmt.Sprintf("cannot be used: %v", cause)
	}
	return found
}

// checkNoPacks warns if packs are in objects that cannot be read, because checkpoint.store was emptied.
func checkNoPacks(ctx context.Context, found Finding, database string) Finding {
	if database == "" {
		return found
	}
	ctx, cancel := context.WithTimeout(ctx, 5*time.Second)
	defer cancel()
	packs, err := packsInObjects(ctx, database)
	switch {
	case err != nil: // the check postgresql names the cause
		found.Status, found.Detail, found.Next = FindingWarn, "not checked: the database does not answer", "see what the check `postgresql` says"
	case packs > 0:
		found.Status, found.Next = FindingFail, "set checkpoint.store to the store in which they are; see docs/RETENTION.md"
		found.Detail = fmt.Sprintf("checkpoint.store is empty, but the packs of %d checkpoints are in an object store: attempts cannot continue from them", packs)
	}
	return found
}

func packsInObjects(ctx context.Context, database string) (int64, error) {
	store, err := postgres.Open(ctx, database, postgres.Config{})
	if err != nil {
		return 0, err
	}
	defer store.Close()
	return store.PacksInObjects(ctx)
}
