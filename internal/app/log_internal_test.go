package app

import (
	"bytes"
	"errors"
	"log/slog"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func TestLogAttr_HidesSecretsAndNamesUnits(t *testing.T) {
	t.Parallel()
	var log bytes.Buffer
	logger := slog.New(slog.NewJSONHandler(&log, &slog.HandlerOptions{ReplaceAttr: logAttr([]string{"hunter2-hunter2"})}))
	logger.LogAttrs(t.Context(), slog.LevelInfo, "tried hunter2-hunter2", slog.Any("list", []string{"a", "hunter2-hunter2"}), slog.Any("error", errors.New("get https://user:pass@host/x: refused")),
		slog.Attr{}, slog.String("path", "/x/hunter2-hunter2"), slog.Duration("took", 1500*time.Millisecond))
	require.Contains(t, log.String(), `"level":"INFO","msg":"tried [removed]","list":"[a [removed]]","error":"get https://[removed]host/x: refused","path":"/x/[removed]","took":"1.5s"}`)
}
