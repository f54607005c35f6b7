package systems

import "embed"

// Kits are the kits for other languages as they go into a folder that knows no checkout: under kit/python
// the package sixthcopy_kit, under kit/typescript the built package sixthcopy-kit.
//
//go:embed kit/python/sixthcopy_kit/*.py kit/python/sixthcopy_kit/py.typed
//go:embed kit/typescript/package.json kit/typescript/dist/*
var Kits embed.FS
