# Conveniences; nothing here is needed to build or test (see README.md).
PREFIX ?= $(HOME)/.local
VERSION_FLAGS = -trimpath -ldflags "-s -w"
TARGETS = linux/amd64 linux/arm64 darwin/arm64 darwin/amd64 windows/amd64

.PHONY: build test install bench cross agents ci man

build:
	CGO_ENABLED=0 go build $(VERSION_FLAGS) -o dragoman ./cmd/dragoman

test:
	go test ./...

install: build
	install -d "$(PREFIX)/bin"
	install -m 0755 dragoman "$(PREFIX)/bin/dragoman"
	ln -sf dragoman "$(PREFIX)/bin/a4aa"

man: build
	./dragoman man > dragoman.1

# Each figure's meaning and target: bench/README.md. A busy machine lies.
bench:
	cd bench && for d in */main.go; do echo "== $${d%/main.go}"; go run "./$${d%/main.go}" || exit 1; done

cross:
	@for t in $(TARGETS); do \
	  echo "vet and build $$t"; \
	  GOOS=$${t%/*} GOARCH=$${t#*/} CGO_ENABLED=0 go vet ./... || exit 1; \
	  GOOS=$${t%/*} GOARCH=$${t#*/} CGO_ENABLED=0 go build -o /dev/null ./cmd/dragoman || exit 1; \
	done

# Every agent of the rig, also those that CI leaves out.
agents:
	go run ./internal/rig -matrix docs/agents-matrix.md

ci:
	bash .ci/run
