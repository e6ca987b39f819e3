"""The names of the descriptors of molecules, and the numbers of RDKit that two of them are lists of.

The lists are written out, so that a model gets the numbers that it was trained on when RDKit adds to its own list.
"""

from collections.abc import Mapping, Sequence

import numpy as np
import numpy.typing as npt

from deepergcn.errors import InputError

KINDS = ("morgan", "maccs", "properties", "rdkit")
"""What RDKit computes; any other name is a column of the user's file."""

MORGAN_SIZE, MACCS_SIZE = 2048, 167

_PROPERTIES = """
exactmw amw lipinskiHBA lipinskiHBD NumRotatableBonds NumHBD NumHBA NumHeavyAtoms NumAtoms NumHeteroatoms
NumAmideBonds FractionCSP3 NumRings NumAromaticRings NumAliphaticRings NumSaturatedRings NumHeterocycles
NumAromaticHeterocycles NumSaturatedHeterocycles NumAliphaticHeterocycles NumSpiroAtoms NumBridgeheadAtoms
NumAtomStereoCenters NumUnspecifiedAtomStereoCenters labuteASA tpsa CrippenClogP CrippenMR chi0v chi1v chi0n
chi1n hallKierAlpha kappa1
"""

PROPERTIES: tuple[str, ...] = tuple(_PROPERTIES.split())
"""RDKit's numbers of ``properties``: those of its class of that name, such as logP, polar surface and counts of rings,
but for the ones that enumerate paths, which take as long as all others. They take less than a tenth of the time of
``rdkit``."""

_NUMBERS = """
MaxAbsEStateIndex MaxEStateIndex MinAbsEStateIndex MinEStateIndex qed SPS MolWt HeavyAtomMolWt ExactMolWt
NumValenceElectrons NumRadicalElectrons MaxPartialCharge MinPartialCharge MaxAbsPartialCharge
MinAbsPartialCharge FpDensityMorgan1 FpDensityMorgan2 FpDensityMorgan3 BCUT2D_MWHI BCUT2D_MWLOW BCUT2D_CHGHI
BCUT2D_CHGLO BCUT2D_LOGPHI BCUT2D_LOGPLOW BCUT2D_MRHI BCUT2D_MRLOW BalabanJ BertzCT Chi0 Chi0n Chi0v Chi1 Chi1n
Chi1v Chi2n Chi2v Chi3n Chi3v Chi4n Chi4v HallKierAlpha Kappa1 Kappa2 Kappa3 LabuteASA PEOE_VSA1 PEOE_VSA10
PEOE_VSA11 PEOE_VSA12 PEOE_VSA13 PEOE_VSA14 PEOE_VSA2 PEOE_VSA3 PEOE_VSA4 PEOE_VSA5 PEOE_VSA6 PEOE_VSA7
PEOE_VSA8 PEOE_VSA9 SMR_VSA1 SMR_VSA10 SMR_VSA2 SMR_VSA3 SMR_VSA4 SMR_VSA5 SMR_VSA6 SMR_VSA7 SMR_VSA8 SMR_VSA9
SlogP_VSA1 SlogP_VSA10 SlogP_VSA11 SlogP_VSA12 SlogP_VSA2 SlogP_VSA3 SlogP_VSA4 SlogP_VSA5 SlogP_VSA6 SlogP_VSA7
SlogP_VSA8 SlogP_VSA9 TPSA EState_VSA1 EState_VSA10 EState_VSA11 EState_VSA2 EState_VSA3 EState_VSA4 EState_VSA5
EState_VSA6 EState_VSA7 EState_VSA8 EState_VSA9 VSA_EState1 VSA_EState10 VSA_EState2 VSA_EState3 VSA_EState4
VSA_EState5 VSA_EState6 VSA_EState7 VSA_EState8 VSA_EState9 FractionCSP3 HeavyAtomCount NHOHCount NOCount
NumAliphaticCarbocycles NumAliphaticHeterocycles NumAliphaticRings NumAmideBonds NumAromaticCarbocycles
NumAromaticHeterocycles NumAromaticRings NumAtomStereoCenters NumBridgeheadAtoms NumHAcceptors NumHDonors
NumHeteroatoms NumHeterocycles NumRotatableBonds NumSaturatedCarbocycles NumSaturatedHeterocycles
NumSaturatedRings NumSpiroAtoms NumUnspecifiedAtomStereoCenters Phi RingCount MolLogP MolMR fr_Al_COO fr_Al_OH
fr_Al_OH_noTert fr_ArN fr_Ar_COO fr_Ar_N fr_Ar_NH fr_Ar_OH fr_COO fr_COO2 fr_C_O fr_C_O_noCOO fr_C_S fr_HOCCN
fr_Imine fr_NH0 fr_NH1 fr_NH2 fr_N_O fr_Ndealkylation1 fr_Ndealkylation2 fr_Nhpyrrole fr_SH fr_aldehyde
fr_alkyl_carbamate fr_alkyl_halide fr_allylic_oxid fr_amide fr_amidine fr_aniline fr_aryl_methyl fr_azide fr_azo
fr_barbitur fr_benzene fr_benzodiazepine fr_bicyclic fr_diazo fr_dihydropyridine fr_epoxide fr_ester fr_ether
fr_furan fr_guanido fr_halogen fr_hdrzine fr_hdrzone fr_imidazole fr_imide fr_isocyan fr_isothiocyan fr_ketone
fr_ketone_Topliss fr_lactam fr_lactone fr_methoxy fr_morpholine fr_nitrile fr_nitro fr_nitro_arom
fr_nitro_arom_nonortho fr_nitroso fr_oxazole fr_oxime fr_para_hydroxylation fr_phenol fr_phenol_noOrthoHbond
fr_phos_acid fr_phos_ester fr_piperdine fr_piperzine fr_priamide fr_prisulfonamd fr_pyridine fr_quatN fr_sulfide
fr_sulfonamd fr_sulfone fr_term_acetylene fr_tetrazole fr_thiazole fr_thiocyan fr_thiophene fr_unbrch_alkane
fr_urea
"""

NUMBERS: tuple[str, ...] = tuple(_NUMBERS.split())
"""RDKit's numbers of ``rdkit``: all of its list in version 2026.09.1 but the information content Ipc, which exceeds
float32 for drug-like molecules and takes most of the time."""


def check_names(names: Sequence[str]) -> tuple[str, ...]:
    """The names, each once."""
    for name in names:
        if not isinstance(name, str) or not name.strip():
            raise InputError(f"descriptors has {name!r}; expected {', '.join(KINDS)} or the name of a column")
    if len(set(names)) < len(names):
        raise InputError(f"descriptors are {', '.join(names)}; expected each once")
    return tuple(names)


def described(names: Sequence[str], gaps: Mapping[str, int]) -> tuple[str, ...]:
    """A readable description of each of these descriptors, and of the gaps of those that are columns."""
    sizes = {
        "morgan": f"morgan ({MORGAN_SIZE:,} counts)",
        "maccs": f"maccs ({MACCS_SIZE} keys)",
        "properties": f"properties ({len(PROPERTIES)} numbers)",
        "rdkit": f"rdkit ({len(NUMBERS)} numbers)",
    }
    filled = {name: f" ({count:,} gaps filled with the mean)" for name, count in gaps.items()}
    return tuple(sizes.get(name, f"column {name}{filled.get(name, '')}") for name in names)


def columns_of(names: Sequence[str]) -> dict[str, npt.NDArray[np.int64]]:
    """The columns of every one of these descriptors among all of them: counts come first, columns of a file last."""
    sizes = {"morgan": MORGAN_SIZE, "maccs": MACCS_SIZE, "properties": len(PROPERTIES), "rdkit": len(NUMBERS)}
    rank = {"morgan": 0, "maccs": 0, "properties": 1, "rdkit": 1}
    found, start = {}, 0
    for name in sorted(check_names(names), key=lambda name: rank.get(name, 2)):
        found[name] = np.arange(start, start + sizes.get(name, 1))
        start += sizes.get(name, 1)
    return found
