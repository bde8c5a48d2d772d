# SPDX-License-Identifier: MIT
# nix-build -E 'with import <nixpkgs> { }; callPackage ./smallweb.nix { }'
{ lib, stdenv, fetchurl, autoPatchelfHook, curl, libidn2, openssl, python3, zlib }:

stdenv.mkDerivation rec {
  pname = "smallweb";
  version = "0.2.0";

  src = fetchurl {
    url = "https://example.org/smallweb/releases/download/${version}/smallweb-${version}-linux-x86_64.tar.gz";
    sha256 = "0000000000000000000000000000000000000000000000000000000000000000";
  };

  nativeBuildInputs = [ autoPatchelfHook ];
  # For the first lines of plugins.
  buildInputs = [ python3 ];
  # What is opened when it is needed.
  runtimeDependencies = map lib.getLib [ curl libidn2 openssl zlib ];
  dontStrip = true;

  installPhase = ''
    runHook preInstall
    mkdir -p $out
    cp -R bin share $out
    runHook postInstall
  '';

  doInstallCheck = true;
  installCheckPhase = ''
    $out/bin/smallweb --version | grep -F "smallweb ${version}"
  '';

  meta = with lib; {
    description = "Fetcher for Gemini, Gopher, Finger, Nex, Spartan, Git and HTTP";
    homepage = "https://example.org/smallweb";
    license = with licenses; [ mit asl20 gpl3Plus ];
    sourceProvenance = [ sourceTypes.binaryNativeCode ];
    platforms = [ "x86_64-linux" ];
    mainProgram = "smallweb";
  };
}
