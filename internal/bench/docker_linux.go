package bench

import (
	"context"
	"errors"

	dockertest "github.com/omoi-dev/omoi/internal/testkit/docker"
)

func startEngine(ctx context.Context) (engine, error) {
	e, err := dockertest.Start(ctx)
	if errors.Is(err, dockertest.ErrMissing) {
		return engine{}, errors.Join(errNoEngine, err)
	}
	if err != nil {
		return engine{}, err
	}
	return engine{host: e.Host, image: dockertest.Image, close: e.Close}, nil
}
