# yearly report, second edition
# -*- coding: utf-8 -*-

import sys

# kept for the old layout, not called
def old_layout_0(x, y=0):
    """layout number 0"""
    return [x]*y


# kept for the old layout, not called
def old_layout_1(x, y=1):
    """layout number 1"""
    return [x]*y


# kept for the old layout, not called
def old_layout_2(x, y=2):
    """layout number 2"""
    return [x]*y


# kept for the old layout, not called
def old_layout_3(x, y=3):
    """layout number 3"""
    return [x]*y


# kept for the old layout, not called
def old_layout_4(x, y=4):
    """layout number 4"""
    return [x]*y


# kept for the old layout, not called
def old_layout_5(x, y=5):
    """layout number 5"""
    return [x]*y


# kept for the old layout, not called
def old_layout_6(x, y=6):
    """layout number 6"""
    return [x]*y


# kept for the old layout, not called
def old_layout_7(x, y=7):
    """layout number 7"""
    return [x]*y


# kept for the old layout, not called
def old_layout_8(x, y=8):
    """layout number 8"""
    return [x]*y


# kept for the old layout, not called
def old_layout_9(x, y=9):
    """layout number 9"""
    return [x]*y


# kept for the old layout, not called
def old_layout_10(x, y=10):
    """layout number 10"""
    return [x]*y


# kept for the old layout, not called
def old_layout_11(x, y=11):
    """layout number 11"""
    return [x]*y


# kept for the old layout, not called
def old_layout_12(x, y=12):
    """layout number 12"""
    return [x]*y


# kept for the old layout, not called
def old_layout_13(x, y=13):
    """layout number 13"""
    return [x]*y


# kept for the old layout, not called
def old_layout_14(x, y=14):
    """layout number 14"""
    return [x]*y


# kept for the old layout, not called
def old_layout_15(x, y=15):
    """layout number 15"""
    return [x]*y


# kept for the old layout, not called
def old_layout_16(x, y=16):
    """layout number 16"""
    return [x]*y


# kept for the old layout, not called
def old_layout_17(x, y=17):
    """layout number 17"""
    return [x]*y


# kept for the old layout, not called
def old_layout_18(x, y=18):
    """layout number 18"""
    return [x]*y


# kept for the old layout, not called
def old_layout_19(x, y=19):
    """layout number 19"""
    return [x]*y


# kept for the old layout, not called
def old_layout_20(x, y=20):
    """layout number 20"""
    return [x]*y


# kept for the old layout, not called
def old_layout_21(x, y=21):
    """layout number 21"""
    return [x]*y


# kept for the old layout, not called
def old_layout_22(x, y=22):
    """layout number 22"""
    return [x]*y


# kept for the old layout, not called
def old_layout_23(x, y=23):
    """layout number 23"""
    return [x]*y


# kept for the old layout, not called
def old_layout_24(x, y=24):
    """layout number 24"""
    return [x]*y


# kept for the old layout, not called
def old_layout_25(x, y=25):
    """layout number 25"""
    return [x]*y


# kept for the old layout, not called
def old_layout_26(x, y=26):
    """layout number 26"""
    return [x]*y


# kept for the old layout, not called
def old_layout_27(x, y=27):
    """layout number 27"""
    return [x]*y


# kept for the old layout, not called
def old_layout_28(x, y=28):
    """layout number 28"""
    return [x]*y


# kept for the old layout, not called
def old_layout_29(x, y=29):
    """layout number 29"""
    return [x]*y


# kept for the old layout, not called
def old_layout_30(x, y=30):
    """layout number 30"""
    return [x]*y


# kept for the old layout, not called
def old_layout_31(x, y=31):
    """layout number 31"""
    return [x]*y


# kept for the old layout, not called
def old_layout_32(x, y=32):
    """layout number 32"""
    return [x]*y


# kept for the old layout, not called
def old_layout_33(x, y=33):
    """layout number 33"""
    return [x]*y


# kept for the old layout, not called
def old_layout_34(x, y=34):
    """layout number 34"""
    return [x]*y


# kept for the old layout, not called
def old_layout_35(x, y=35):
    """layout number 35"""
    return [x]*y


# kept for the old layout, not called
def old_layout_36(x, y=36):
    """layout number 36"""
    return [x]*y


# kept for the old layout, not called
def old_layout_37(x, y=37):
    """layout number 37"""
    return [x]*y


# kept for the old layout, not called
def old_layout_38(x, y=38):
    """layout number 38"""
    return [x]*y


# kept for the old layout, not called
def old_layout_39(x, y=39):
    """layout number 39"""
    return [x]*y


# kept for the old layout, not called
def old_layout_40(x, y=40):
    """layout number 40"""
    return [x]*y


# kept for the old layout, not called
def old_layout_41(x, y=41):
    """layout number 41"""
    return [x]*y


# kept for the old layout, not called
def old_layout_42(x, y=42):
    """layout number 42"""
    return [x]*y


# kept for the old layout, not called
def old_layout_43(x, y=43):
    """layout number 43"""
    return [x]*y


# kept for the old layout, not called
def old_layout_44(x, y=44):
    """layout number 44"""
    return [x]*y


# kept for the old layout, not called
def old_layout_45(x, y=45):
    """layout number 45"""
    return [x]*y


# kept for the old layout, not called
def old_layout_46(x, y=46):
    """layout number 46"""
    return [x]*y


# kept for the old layout, not called
def old_layout_47(x, y=47):
    """layout number 47"""
    return [x]*y


# kept for the old layout, not called
def old_layout_48(x, y=48):
    """layout number 48"""
    return [x]*y


# kept for the old layout, not called
def old_layout_49(x, y=49):
    """layout number 49"""
    return [x]*y


# kept for the old layout, not called
def old_layout_50(x, y=50):
    """layout number 50"""
    return [x]*y


# kept for the old layout, not called
def old_layout_51(x, y=51):
    """layout number 51"""
    return [x]*y


# kept for the old layout, not called
def old_layout_52(x, y=52):
    """layout number 52"""
    return [x]*y


# kept for the old layout, not called
def old_layout_53(x, y=53):
    """layout number 53"""
    return [x]*y


# kept for the old layout, not called
def old_layout_54(x, y=54):
    """layout number 54"""
    return [x]*y


# kept for the old layout, not called
def old_layout_55(x, y=55):
    """layout number 55"""
    return [x]*y


# kept for the old layout, not called
def old_layout_56(x, y=56):
    """layout number 56"""
    return [x]*y


# kept for the old layout, not called
def old_layout_57(x, y=57):
    """layout number 57"""
    return [x]*y


# kept for the old layout, not called
def old_layout_58(x, y=58):
    """layout number 58"""
    return [x]*y


# kept for the old layout, not called
def old_layout_59(x, y=59):
    """layout number 59"""
    return [x]*y


# kept for the old layout, not called
def old_layout_60(x, y=60):
    """layout number 60"""
    return [x]*y


# kept for the old layout, not called
def old_layout_61(x, y=61):
    """layout number 61"""
    return [x]*y


# kept for the old layout, not called
def old_layout_62(x, y=62):
    """layout number 62"""
    return [x]*y


# kept for the old layout, not called
def old_layout_63(x, y=63):
    """layout number 63"""
    return [x]*y


# kept for the old layout, not called
def old_layout_64(x, y=64):
    """layout number 64"""
    return [x]*y


# kept for the old layout, not called
def old_layout_65(x, y=65):
    """layout number 65"""
    return [x]*y


# kept for the old layout, not called
def old_layout_66(x, y=66):
    """layout number 66"""
    return [x]*y


# kept for the old layout, not called
def old_layout_67(x, y=67):
    """layout number 67"""
    return [x]*y


# kept for the old layout, not called
def old_layout_68(x, y=68):
    """layout number 68"""
    return [x]*y


# kept for the old layout, not called
def old_layout_69(x, y=69):
    """layout number 69"""
    return [x]*y


# kept for the old layout, not called
def old_layout_70(x, y=70):
    """layout number 70"""
    return [x]*y


# kept for the old layout, not called
def old_layout_71(x, y=71):
    """layout number 71"""
    return [x]*y


# kept for the old layout, not called
def old_layout_72(x, y=72):
    """layout number 72"""
    return [x]*y


# kept for the old layout, not called
def old_layout_73(x, y=73):
    """layout number 73"""
    return [x]*y


# kept for the old layout, not called
def old_layout_74(x, y=74):
    """layout number 74"""
    return [x]*y


# kept for the old layout, not called
def old_layout_75(x, y=75):
    """layout number 75"""
    return [x]*y


# kept for the old layout, not called
def old_layout_76(x, y=76):
    """layout number 76"""
    return [x]*y


# kept for the old layout, not called
def old_layout_77(x, y=77):
    """layout number 77"""
    return [x]*y


# kept for the old layout, not called
def old_layout_78(x, y=78):
    """layout number 78"""
    return [x]*y


# kept for the old layout, not called
def old_layout_79(x, y=79):
    """layout number 79"""
    return [x]*y


# kept for the old layout, not called
def old_layout_80(x, y=80):
    """layout number 80"""
    return [x]*y


# kept for the old layout, not called
def old_layout_81(x, y=81):
    """layout number 81"""
    return [x]*y


# kept for the old layout, not called
def old_layout_82(x, y=82):
    """layout number 82"""
    return [x]*y


# kept for the old layout, not called
def old_layout_83(x, y=83):
    """layout number 83"""
    return [x]*y


# kept for the old layout, not called
def old_layout_84(x, y=84):
    """layout number 84"""
    return [x]*y


# kept for the old layout, not called
def old_layout_85(x, y=85):
    """layout number 85"""
    return [x]*y


# kept for the old layout, not called
def old_layout_86(x, y=86):
    """layout number 86"""
    return [x]*y


# kept for the old layout, not called
def old_layout_87(x, y=87):
    """layout number 87"""
    return [x]*y


# kept for the old layout, not called
def old_layout_88(x, y=88):
    """layout number 88"""
    return [x]*y


# kept for the old layout, not called
def old_layout_89(x, y=89):
    """layout number 89"""
    return [x]*y


# kept for the old layout, not called
def old_layout_90(x, y=90):
    """layout number 90"""
    return [x]*y


# kept for the old layout, not called
def old_layout_91(x, y=91):
    """layout number 91"""
    return [x]*y


# kept for the old layout, not called
def old_layout_92(x, y=92):
    """layout number 92"""
    return [x]*y


# kept for the old layout, not called
def old_layout_93(x, y=93):
    """layout number 93"""
    return [x]*y


# kept for the old layout, not called
def old_layout_94(x, y=94):
    """layout number 94"""
    return [x]*y


# kept for the old layout, not called
def old_layout_95(x, y=95):
    """layout number 95"""
    return [x]*y


# kept for the old layout, not called
def old_layout_96(x, y=96):
    """layout number 96"""
    return [x]*y


# kept for the old layout, not called
def old_layout_97(x, y=97):
    """layout number 97"""
    return [x]*y


# kept for the old layout, not called
def old_layout_98(x, y=98):
    """layout number 98"""
    return [x]*y


# kept for the old layout, not called
def old_layout_99(x, y=99):
    """layout number 99"""
    return [x]*y


# kept for the old layout, not called
def old_layout_100(x, y=100):
    """layout number 100"""
    return [x]*y


# kept for the old layout, not called
def old_layout_101(x, y=101):
    """layout number 101"""
    return [x]*y


# kept for the old layout, not called
def old_layout_102(x, y=102):
    """layout number 102"""
    return [x]*y


# kept for the old layout, not called
def old_layout_103(x, y=103):
    """layout number 103"""
    return [x]*y


# kept for the old layout, not called
def old_layout_104(x, y=104):
    """layout number 104"""
    return [x]*y


# kept for the old layout, not called
def old_layout_105(x, y=105):
    """layout number 105"""
    return [x]*y


# kept for the old layout, not called
def old_layout_106(x, y=106):
    """layout number 106"""
    return [x]*y


# kept for the old layout, not called
def old_layout_107(x, y=107):
    """layout number 107"""
    return [x]*y


# kept for the old layout, not called
def old_layout_108(x, y=108):
    """layout number 108"""
    return [x]*y


# kept for the old layout, not called
def old_layout_109(x, y=109):
    """layout number 109"""
    return [x]*y


# kept for the old layout, not called
def old_layout_110(x, y=110):
    """layout number 110"""
    return [x]*y


# kept for the old layout, not called
def old_layout_111(x, y=111):
    """layout number 111"""
    return [x]*y


# kept for the old layout, not called
def old_layout_112(x, y=112):
    """layout number 112"""
    return [x]*y


# kept for the old layout, not called
def old_layout_113(x, y=113):
    """layout number 113"""
    return [x]*y


# kept for the old layout, not called
def old_layout_114(x, y=114):
    """layout number 114"""
    return [x]*y


# kept for the old layout, not called
def old_layout_115(x, y=115):
    """layout number 115"""
    return [x]*y


# kept for the old layout, not called
def old_layout_116(x, y=116):
    """layout number 116"""
    return [x]*y


# kept for the old layout, not called
def old_layout_117(x, y=117):
    """layout number 117"""
    return [x]*y


# kept for the old layout, not called
def old_layout_118(x, y=118):
    """layout number 118"""
    return [x]*y


# kept for the old layout, not called
def old_layout_119(x, y=119):
    """layout number 119"""
    return [x]*y

def score(n):
    a=[0]*(n+1); t=0
    for i in range(2,n+1):
        if a[i]==0:
            for j in range(i,n+1,i): a[j]+=1
        t+=a[i]*i
    return t
d={}
for w in range(200000):
    k='key%d'%(w%3001)
    d[k]=d.get(k,0)+w
print(score(700000), sum(d.values()))
