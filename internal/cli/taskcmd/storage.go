package taskcmd

import (
	"context"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/omoi-dev/omoi/api/client"
	"github.com/omoi-dev/omoi/internal/cli/render"
	"github.com/omoi-dev/omoi/internal/retention"
)

func newStorage(s *session) *cobra.Command {
	return s.verb("storage", "Show stored data by kind, and what retention removes next", NoArgs, func(ctx context.Context, api *client.Client, _ []string) error {
		found, err := api.Storage(ctx)
		return s.answer(found, err, func() { s.storageTable(found) })
	})
}

func (s *session) storageTable(found retention.Storage) {
	list(s, found.Kinds, "No data is stored.", "KIND|SIZE|KEPT|NEXT PASS REMOVES", func(k retention.StorageKind) []string {
		size := "-"
		if k.Bytes != nil {
			size = render.Bytes(*k.Bytes)
		}
		if k.ObjectBytes > 0 {
			size += ", and " + render.Bytes(k.ObjectBytes) + " in checkpoint.store"
		}
		return []string{
			strings.ReplaceAll(k.Kind, "_", " "), size, retention.KeepText(time.Duration(k.KeepSeconds * float64(time.Second))), expiredText(k),
		}
	})
}

// expiredText renders what the next retention pass removes of a kind.
func expiredText(k retention.StorageKind) string {
	count := strconv.FormatInt(k.Expired, 10)
	switch {
	case k.Expired == 0:
		return "nothing"
	case k.Kind == retention.BusRows:
		return count + " rows"
	case k.Kind == retention.Branches, k.Kind == retention.Refs:
		return "of " + count + " tasks"
	case k.ExpiredRows > 0:
		return strconv.FormatInt(k.ExpiredRows, 10) + " events of " + count + " sandboxes"
	}
	return "of " + count + " sandboxes"
}
